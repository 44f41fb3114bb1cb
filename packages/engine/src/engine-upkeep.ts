/** What goes on behind the calls of an engine: what was deleted leaves the files, and what is small shares them. */
import { CollectionPurger, type CollectionPurgerOptions } from "./collection/removal/collection-purger.ts";
import { ShareJoiner, type ShareJoinerOptions } from "./collection/joining/share-joiner.ts";
import { type SharedUpkeepOptions, startSharedUpkeep } from "./collection/logged/shared-upkeep.ts";

type UpkeepOptions = Omit<CollectionPurgerOptions & ShareJoinerOptions, "onProblem"> &
  Omit<SharedUpkeepOptions, "logs" | "others"> & {
    /** Not `null`: of a database's records there is a view only, and its logs keep what was deleted. */
    readonly logs: SharedUpkeepOptions["logs"] | null;
    readonly others: SharedUpkeepOptions["others"] | null;
    /** `message`: what went wrong. */
    readonly telling: SharedUpkeepOptions["telling"];
  };

/** Works until it is closed. */
export function startUpkeep({ logs, others, ...all }: UpkeepOptions): { close(): Promise<void> } {
  if (logs !== null && others !== null) return startSharedUpkeep({ ...all, logs, others });
  const purger = new CollectionPurger({
    ...all,
    onProblem: all.telling("what was deleted in a collection could not be removed for good"),
  });
  const joiner = new ShareJoiner({
    ...all,
    onProblem: all.telling("a small collection could not move into shared files"),
  });
  return {
    close: async () => {
      await Promise.all([purger.close(), joiner.close()]);
    },
  };
}
