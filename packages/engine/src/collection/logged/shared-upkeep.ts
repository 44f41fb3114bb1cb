/**
 * What goes on behind the calls of an engine whose collections other servers change, too: it tells of their changes of the
 * catalog, removes from this disk what they have dropped, and from the database what those of them have left that died.
 */
import { type CatalogReport, watchCatalog } from "../../catalog/catalog-watch.ts";
import type { CatalogNews } from "../../storage/catalog/catalog-news.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { DiskSpace } from "../../storage/folder/disk-space.ts";
import { IndexJobs } from "../../publication/index-jobs.ts";
import type { PostgresIndexJobs } from "../../storage/postgres/postgres-index-jobs.ts";
import { collectionOf } from "../../storage/folder/partition-name.ts";
import { UpkeepRounds } from "../../upkeep-rounds.ts";
import { type DiscardingParts, discardCollections } from "../removal/discard-collections.ts";
import type { CollectionPool } from "../collection-pool.ts";
import type { CollectionLogs } from "./collection-logs.ts";
import type { DatabaseMeasure } from "./database-measure.ts";
import { shareCollection } from "./share-collection.ts";

/** The catalog that other servers change, as far as upkeep needs it. */
export interface OthersCatalog {
  /** Never rejects. */
  readonly news: () => Promise<CatalogNews>;
  /** Those of some ids that no collection has. */
  readonly absentOf: (ids: readonly string[]) => Promise<readonly string[]>;
  readonly measure: () => DatabaseMeasure;
  /** Asks an object store that has failed: a server that needs nothing of it would say so for hours. Never rejects. */
  readonly askObjects: () => Promise<void>;
  /** Whether sweeps of the database are left to another server. */
  readonly isLeft: () => boolean;
  /** Between two looks at the disk, in milliseconds; by default a minute. */
  readonly lookMs?: number | undefined;
}

export interface SharedUpkeepOptions extends Omit<DiscardingParts, "pool" | "logs" | "onProblem"> {
  readonly others: OthersCatalog;
  readonly logs: CollectionLogs;
  readonly pool: CollectionPool;
  readonly catalog: Pick<Catalog, "entry">;
  readonly disk: DiskSpace;
  /** Knows the ids of collections that are being forked. */
  readonly shares: { isReserved(id: string): boolean };
  readonly onCatalog: ((report: CatalogReport) => void) | undefined;
  /** `null`: this is no index node. */
  readonly jobs: PostgresIndexJobs | null;
  readonly telling: (message: string) => (error: unknown, collection?: string) => void;
}

const LOOK_MS = 60_000;
/** A look at all logs of the database, from each server. */
const SWEEP_AFTER_LOOKS = 60;
const AT_ONCE = 256;

/** Works until it is closed. */
export function startSharedUpkeep(options: SharedUpkeepOptions): { close(): Promise<void> } {
  const { others, onCatalog, logs, jobs, telling } = options;
  const { lookMs = LOOK_MS } = others;
  const looks = new UpkeepRounds(lookMs, async () => {
    const removed = removeDropped(options, looks);
    await removed.catch(telling("dropped collections could not be removed"));
    await others.askObjects();
    return lookMs;
  });
  // Servers that start together do not sweep together.
  const sweeps = new UpkeepRounds(lookMs * (1 + Math.random()), async () => {
    if (!others.isLeft())
      await logs.sweep(others.absentOf).catch(telling("what was left in the database stays there"));
    return lookMs * SWEEP_AFTER_LOOKS;
  });
  const watch = onCatalog === undefined ? null : watchCatalog(others.news, onCatalog);
  const indexing =
    jobs &&
    new IndexJobs({
      jobs,
      work: (job, signal) => shareCollection(options, job, signal),
      onProblem: telling("what other servers could take of a collection was not made; it is tried again"),
    });
  return {
    close: async () => {
      await Promise.all([looks.close(), sweeps.close(), watch?.close(), indexing?.close()]);
    },
  };
}

/** Their logs are for whoever has dropped them. */
async function removeDropped(options: SharedUpkeepOptions, { closing }: UpkeepRounds): Promise<void> {
  const { folder, pool, shares, others, telling } = options;
  const ids = [...new Set([...folder.collectionIds(), ...pool.openIds().map(collectionOf)])];
  const onProblem = telling("removing what another server has dropped failed");
  for (let from = 0; from < ids.length && !closing.aborted; from += AT_ONCE) {
    // The catalog does not know yet what is being forked.
    const some = ids.slice(from, from + AT_ONCE).filter((id) => !shares.isReserved(id));
    const absent = await others.absentOf(some);
    await discardCollections(absent, { ...options, logs: null, onProblem });
  }
}
