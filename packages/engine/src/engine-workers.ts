/** What works for all collections of an engine beside its thread. */
import { type ScanPool, createScanPool } from "./index/scan-pool.ts";
import { IndexerChild } from "./indexing/indexer-child.ts";
import { RegexPool } from "./query/regex/regex-pool.ts";
import { RowReader } from "./storage/files/row-reader.ts";

export interface EngineWorkers {
  readonly scanPool: ScanPool;
  readonly regexPool: RegexPool;
  readonly rowReader: RowReader;
  readonly indexer: IndexerChild;
}

/** None is started before there is work for it. */
export function createWorkers(options: ConstructorParameters<typeof IndexerChild>[0]): EngineWorkers {
  return {
    scanPool: createScanPool(),
    regexPool: new RegexPool(),
    rowReader: new RowReader(),
    indexer: new IndexerChild(options),
  };
}
