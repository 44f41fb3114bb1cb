/** What works for all collections of an engine beside its thread. */
import { type ScanPool, createScanPool } from "./index/scan-pool.ts";
import { IndexerChild } from "./indexing/indexer-child.ts";
import { RegexPool } from "./query/regex/regex-pool.ts";

export interface EngineWorkers {
  readonly scanPool: ScanPool;
  readonly regexPool: RegexPool;
  readonly indexer: IndexerChild;
}

/** None is started before there is work for it. */
export function createWorkers(options: ConstructorParameters<typeof IndexerChild>[0]): EngineWorkers {
  return {
    scanPool: createScanPool(),
    regexPool: new RegexPool(),
    indexer: new IndexerChild(options),
  };
}
