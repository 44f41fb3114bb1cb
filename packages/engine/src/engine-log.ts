/** What the engine tells its owner beside replies: never record contents, never keys. */
import { SheafError } from "@sheaf/protocol";
import { inFull } from "./storage/objects/store-failure.ts";

export interface EngineLogEntry {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  /** The collection it is about. */
  readonly collection?: string;
  readonly tenant?: string;
  /** What was wrong; of an unexpected error its stack. */
  readonly error?: string;
}

export type EngineLog = (entry: EngineLogEntry) => void;

/** With its stack, unless it is known and says itself what is wrong. */
export function describeError(error: unknown): string {
  if (error instanceof SheafError && error.code !== "internal") return inFull(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
