/** A plan of a batch whose former versions of records are kept for reads that are open. */
import type { CancelSignal } from "@sheaf/protocol";
import type { PlanNeeds, StoreChange, StoreView } from "../../storage/record-store.ts";
import type { VersionHistory } from "../../storage/version-history.ts";

/** A plan, what it looks at, and who waits for it. */
export type PlannedCommit = readonly [
  plan: (view: StoreView) => Generator<void, StoreChange>,
  needs: () => readonly PlanNeeds[],
  caller: CancelSignal | undefined,
];

/** @param onKept Told what to call once the index has the change, or the change has failed. */
export function* planAndKeep(
  view: StoreView,
  plan: Generator<void, StoreChange>,
  versions: VersionHistory | undefined,
  onKept: (release: () => void) => void,
): Generator<void, StoreChange> {
  const planned = yield* plan;
  if (versions !== undefined) onKept(yield* versions.keep(view, planned));
  return planned;
}
