/** What goes on behind the calls of an engine: what was deleted leaves the files, and what is small shares them. */
import { type CatalogReport, watchCatalog } from "./catalog/catalog-watch.ts";
import { CollectionPurger, type CollectionPurgerOptions } from "./collection/removal/collection-purger.ts";
import type { EngineParts } from "./local-engine-options.ts";
import { ShareJoiner, type ShareJoinerOptions } from "./collection/joining/share-joiner.ts";

type UpkeepOptions = Omit<CollectionPurgerOptions & ShareJoinerOptions, "onProblem"> & {
  /** Not `null`: of a database's records there is a view only, and its logs keep what was deleted. */
  readonly logs: object | null;
  readonly news: EngineParts["news"];
  readonly onCatalog: ((report: CatalogReport) => void) | undefined;
  /** `message`: what went wrong. */
  readonly telling: (message: string) => (error: unknown, collection: string) => void;
};

/** Works until it is closed. */
export function startUpkeep({ telling, logs, news, onCatalog, ...all }: UpkeepOptions): {
  close(): Promise<void>;
} {
  const options = logs === null ? all : { ...all, afterMs: Infinity, limits: null };
  const purger = new CollectionPurger({
    ...options,
    onProblem: telling("what was deleted in a collection could not be removed for good"),
  });
  const joiner = new ShareJoiner({
    ...options,
    onProblem: telling("a small collection could not move into shared files"),
  });
  const watch = news === null || onCatalog === undefined ? null : watchCatalog(news, onCatalog);
  return {
    close: async () => {
      await Promise.all([purger.close(), joiner.close(), watch?.close()]);
    },
  };
}
