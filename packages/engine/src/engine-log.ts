/** What the engine tells its owner beside replies: never record contents, never keys. */
export interface EngineLogEntry {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  /** The collection it is about. */
  readonly collection?: string;
  readonly tenant?: string;
  /** Stack of an unexpected error. */
  readonly error?: string;
}

export type EngineLog = (entry: EngineLogEntry) => void;

export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
