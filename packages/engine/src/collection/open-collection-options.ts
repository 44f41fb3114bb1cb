/** What an open collection is made of: its store, what the catalog knows of it, and what all collections share. */
import type { Archiving } from "../archive/archive.ts";
import type { JsonObject } from "@sheaf/protocol";
import type { CollectionProgress } from "../catalog/checkpoint-catalog.ts";
import type { CollectionIndexOptions } from "../index/collection-index-options.ts";
import type { DocumentMemory } from "../index/document-memory.ts";
import type { ScanPool } from "../index/scan-pool.ts";
import type { TenantRegexes } from "../query/regex/regex-pool.ts";
import type { IndexMemory } from "../storage/files/index-memory.ts";
import type { RowReader } from "../storage/files/row-reader.ts";
import type { LoggedRecordStore } from "../storage/log/logged-record-store.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { HistoryMemory } from "../storage/version-history.ts";
import type { KeptIndexFiles } from "./index-keeper.ts";
import type { DividedIndex } from "./partitions/partitioned-reads.ts";
import type { StoreMover } from "./store-mover.ts";
import type { OpeningProgress } from "./opening/opening-progress.ts";

export interface IndexSettings {
  /** Keeps indexes in files beside the records, which is the default; else they are made of the records at each opening. */
  readonly files?: boolean;
  /** Has segments written by the indexer process, experimental; else by the engine's own thread. */
  readonly indexer?: boolean;
  /** Small ones for tests. */
  readonly sizes?: Pick<CollectionIndexOptions, "denseRows" | "sizes">;
}

export interface OpenCollectionOptions {
  readonly progress: OpeningProgress;
  readonly log: (message: string) => void;
  /** Told of every batch, before and after. */
  readonly archive?: { readonly begin: () => Archiving } | undefined;
  readonly store: RecordStore;
  /** What `store` is where other servers write the collection, too. */
  readonly logged?: LoggedRecordStore | undefined;
  /** What the records take on the disk, in bytes. */
  readonly usedBytes: () => number;
  /** How many there are. */
  readonly storedRecords: () => number;
  /** Copies the store as it is on disk now, beside readers and writers. */
  readonly copyTo: (folder: string) => Promise<void>;
  /** Of a store that shares an environment while it is small. */
  readonly mover?: StoreMover | undefined;
  readonly schema: JsonObject;
  /** The catalog does not know of all that the store holds. */
  readonly dirty: boolean;
  readonly scanPool?: ScanPool | undefined;
  readonly tenant: string;
  readonly regexes: TenantRegexes;
  readonly documents: DocumentMemory;
  /** Of all indexes of the process; without limit if left out. */
  readonly indexMemory?: IndexMemory | undefined;
  /** For index files of all collections. */
  readonly rowReader?: RowReader | undefined;
  /** Where the index is kept in files; it is made of the records at each opening if left out. */
  readonly indexFiles?: KeptIndexFiles | undefined;
  /** It is a partition of a collection, read together with the others. */
  readonly isPartition?: boolean | undefined;
  /** It is in partitions, each of which is open by itself: there is no index of the whole. */
  readonly divided?: DividedIndex | undefined;
  /** Small ones for tests. */
  readonly indexSizes?: IndexSettings["sizes"];
  /** For the versions that are kept for open reads; of its own if left out. */
  readonly historyMemory?: HistoryMemory | undefined;
  /** What it learns of the records reaches the catalog; otherwise others see to that. */
  readonly tells: boolean;
  /** Both durable when they resolve. */
  readonly advance: (progress: CollectionProgress) => Promise<void>;
  readonly markDirty: () => Promise<void>;
  readonly onProblem: (error: unknown) => void;
  /** All records could be read. */
  readonly onWhole: () => void;
}
