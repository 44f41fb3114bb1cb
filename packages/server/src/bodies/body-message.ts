/** What a gateway and its body workers say to each other. */
import type { PackedMessage } from "@sheaf/process";
import type { ErrorMessage } from "@sheaf/protocol";
import type { Parsing } from "./body-parsers.ts";

/** A body to parse: its bytes in pieces, which are transferred. */
export interface BodyTask extends Parsing {
  readonly pieces: readonly ArrayBuffer[];
}

/** Pieces of the packed result are transferred; `heapBytes`: what it takes unpacked. */
export type BodyOutcome =
  | { readonly packed: PackedMessage; readonly heapBytes: number }
  | { readonly error: ErrorMessage }
  /** A fault of ours. */
  | { readonly fault: string };
