/** A transaction as a plan: what was read is as it was, and then what is written. */
import type { CommitOperation, JsonObject } from "@sheaf/protocol";
import type { StoreChange, StoreView } from "../../storage/record-store.ts";
import { type ObservedRecords, checkUnchanged } from "../check-unchanged.ts";
import { planOperations } from "../plan-write.ts";

export interface Transaction {
  /** `null`: it does not depend on anything. */
  readonly observed: ObservedRecords | null;
  readonly operations: readonly CommitOperation[];
  readonly schema: JsonObject;
  readonly hasChunks: boolean;
}

/** Throws as `checkUnchanged` and `planOperations` do; without operations it only checks. */
export function* planCommit(
  view: StoreView,
  { observed, operations, schema, hasChunks }: Transaction,
): Generator<void, StoreChange> {
  if (observed !== null) yield* checkUnchanged(view, observed, hasChunks);
  return yield* planOperations(view, operations, schema);
}
