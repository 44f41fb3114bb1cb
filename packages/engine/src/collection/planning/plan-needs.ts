/** What plans of writes look at, for a store that has to ask for it. */
import type { CommitOperation, WriteRequest } from "@sheaf/protocol";
import type { PlanNeeds } from "../../storage/record-store.ts";
import type { ObservedRecords } from "../check-unchanged.ts";

/** @param isCut Documents of the collection may be in chunks. */
export function needsOfWrite({ kind, records }: WriteRequest, isCut: boolean): readonly PlanNeeds[] {
  const ids = records.map(({ id }) => id);
  if (isCut || records.some(({ chunks }) => chunks !== undefined)) return [{ ids, parents: ids }];
  return [{ ids, bare: kind === "add" }];
}

export function needsOfRemoval(ids: readonly string[], isCut: boolean): readonly PlanNeeds[] {
  return [isCut ? { ids, parents: ids } : { ids, bare: true }];
}

export function needsOfCommit(
  observed: ObservedRecords | null,
  operations: readonly CommitOperation[],
  isCut: boolean,
): readonly PlanNeeds[] {
  let mayBeCut = isCut;
  const ofOperations = operations.flatMap((operation) => {
    if (operation.kind === "delete") return needsOfRemoval(operation.ids, mayBeCut);
    // From the first chunks on, those behind them look for chunks, too.
    mayBeCut ||= operation.records.some(({ chunks }) => chunks !== undefined);
    return needsOfWrite(operation, mayBeCut);
  });
  if (observed === null) return ofOperations;
  const { ids, sequence: removedAfter } = observed;
  return [{ ids, removedAfter, ...(isCut && { parents: ids }) }, ...ofOperations];
}
