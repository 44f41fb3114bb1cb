/**
 * What goes on behind the calls of an engine whose collections other servers change, too: it tells of their changes of the
 * catalog, removes from this disk what they have dropped, and from the database what those of them have left that died.
 */
import { type CatalogReport, watchCatalog } from "../../catalog/catalog-watch.ts";
import type { CatalogNews } from "../../storage/catalog/catalog-news.ts";
import { type CancelSignal, partitionsOf } from "@sheaf/protocol";
import { IndexJobs } from "../../publication/index-jobs.ts";
import type { IndexJob, PostgresIndexJobs } from "../../storage/postgres/postgres-index-jobs.ts";
import { collectionOf, partitionName } from "../../storage/folder/partition-name.ts";
import { UpkeepRounds } from "../../upkeep-rounds.ts";
import { type DiscardingParts, discardCollections } from "../removal/discard-collections.ts";
import type { CollectionPool } from "../collection-pool.ts";
import type { OpenCollection } from "../open-collection.ts";
import type { CollectionLogs } from "./collection-logs.ts";
import type { DatabaseMeasure } from "./database-measure.ts";

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
  const { others, onCatalog, logs, jobs, pool, telling } = options;
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
      work: (job, signal) => shareCollection(pool, job, signal),
      onProblem: telling("what other servers could take of a collection was not made; it is tried again"),
    });
  return {
    close: async () => {
      await Promise.all([looks.close(), sweeps.close(), watch?.close(), indexing?.close()]);
    },
  };
}

/** Closed again: an index node has a part of all collections' work, and this one may not come back for long. */
async function shareCollection(
  pool: CollectionPool,
  { collection: id, isQuiet }: IndexJob,
  signal: CancelSignal,
): Promise<void> {
  const sharing = { pool, isQuiet, signal };
  await shareOne(id, sharing, async ({ schema }) => {
    const partitions = partitionsOf(schema);
    if (partitions === 1) return;
    // Before the checkpoint, which is of the state that the whole was opened at: what has read the log up to there never reads it.
    for (let n = 0; n < partitions; n++) await shareOne(partitionName(id, n), sharing);
  });
}

interface Sharing {
  readonly pool: CollectionPool;
  readonly isQuiet: boolean;
  readonly signal: CancelSignal;
}

/** `before` has no say in whether the log is trimmed. */
async function shareOne(
  name: string,
  { pool, isQuiet, signal }: Sharing,
  before: (collection: OpenCollection) => Promise<void> = async () => {},
): Promise<void> {
  try {
    // However long it takes.
    await pool.open(name);
    await pool.use(name, signal, async (collection, dropped) => {
      const [earlier] = await Promise.allSettled([before(collection)]);
      // Both have ended before it may be closed.
      const outcomes = await Promise.allSettled([
        collection.logged?.checkpoint(isQuiet),
        collection.keeper?.share(dropped),
      ]);
      const failed = [earlier, ...outcomes].find((outcome) => outcome.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    });
  } finally {
    await pool.whileClosed(name, async () => {});
  }
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
