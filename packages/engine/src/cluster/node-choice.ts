/** Which node is asked, and which errors of one another node may not have. */
import { SheafError } from "@sheaf/protocol";
import type { PeerLink } from "@sheaf/process";

/** Of those that serve reads, the one with the fewest calls; the first one has what was written through it already. */
export function leastBusyFirst(ranked: readonly PeerLink[], replicas: number): readonly PeerLink[] {
  const [first, ...others] = ranked.slice(0, replicas).sort((a, b) => a.inFlight - b.inFlight);
  if (first === undefined) return ranked;
  return [first, ...others, ...ranked.slice(replicas)];
}

/** The copy of a collection on one node may be damaged, and is then made again; the others have theirs. */
export function isOfPeer(error: unknown): boolean {
  return error instanceof SheafError && error.code === "collection_unavailable";
}

/** The node has no room for what others have written, and so does nothing; the database's room is the same for all. */
export function isWithoutRoom(error: unknown): boolean {
  return error instanceof SheafError && error.code === "storage_full";
}

export function isUnavailable(error: unknown): boolean {
  return isOfPeer(error) || !isOther(error);
}

export function isOther(error: unknown): boolean {
  return !(error instanceof SheafError && error.code === "unavailable");
}
