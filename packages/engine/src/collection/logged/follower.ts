/** How an open collection hears of what other servers write: open reads keep the versions that they see. */
import type { LogFollower } from "../../storage/log/log-follower.ts";
import type { StoreChange } from "../../storage/record-store.ts";
import type { VersionHistory } from "../../storage/version-history.ts";

/** @param index Has the index follow what is stored. @param room As of `LogFollower`. */
export function followerOf(
  versions: Pick<VersionHistory, "keep">,
  index: (change: StoreChange) => Promise<void>,
  room?: () => Promise<void> | undefined,
): LogFollower {
  let settled = (): void => {};
  return {
    ...(room && { room }),
    *before(view, change) {
      settled = yield* versions.keep(view, change);
    },
    after: async (change) => {
      try {
        if (change !== null) await index(change);
      } finally {
        settled();
        settled = () => {};
      }
    },
  };
}
