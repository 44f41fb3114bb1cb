/** One request of a writer: what it sends, and what the server must hold once it has happened. */
import type { Choices } from "./choices.ts";
import type { Holding } from "./holding.ts";
import type { Request } from "./tortured-server.ts";

export const OPERATION_KINDS = [
  "add",
  "upsert",
  "update",
  "delete",
  "delete where",
  "commit",
  "create collection",
  "drop collection",
  "fork",
  "modify",
  "make key",
  "rotate key",
  "revoke key",
] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export interface Operation {
  readonly kind: OperationKind;
  readonly request: Request;
  /** Status that it must be refused with, leaving everything as it is; `null`: it must succeed. */
  readonly refused: number | null;
  /** Pure. `reply` is `null` where the answer got lost. */
  readonly after: (reply: unknown) => Holding;
  /** What an acknowledgement must say; a part of the reply, as JSON. */
  readonly reply?: Readonly<Record<string, unknown>>;
}

/** What operations are made from. */
export interface Desk {
  readonly owner: string;
  readonly choices: Choices;
  readonly holding: Holding;
  /** Of collections that are divided; 1: none is. */
  readonly partitions: number;
  /** Never given twice to one writer. */
  readonly nextNonce: () => number;
}
