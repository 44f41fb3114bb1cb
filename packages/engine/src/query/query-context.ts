/**
 * What a read of one collection needs. `dimension` is `null` before the first write. Without a `scanPool` dense scans
 * run in this thread, in slices between which other work gets its turn; with one (see `createScanPool`) the large
 * ones run on worker threads. Whoever makes the pool shares it between collections and closes it.
 */
import type { IndexPlan, MetadataKind } from "@sheaf/protocol";
import type { DocumentMemory } from "../index/document-memory.ts";
import type { CollectionIndex } from "../index/collection-index.ts";
import type { ScanPool } from "../index/scan-pool.ts";
import type { VersionHistory } from "../storage/version-history.ts";
import type { ViewedStore } from "./record-view.ts";
import type { TenantRegexes } from "./regex/regex-pool.ts";
import type { StageTimes } from "./stage-times.ts";

export interface QueryContext {
  readonly index: CollectionIndex;
  readonly reader: ViewedStore;
  /** Where the store keeps what it replaces while reads are open. */
  readonly versions: VersionHistory;
  /** Throws where the store has lost this record, which no write explains. */
  readonly requireStored?: ((id: string) => void) | undefined;
  readonly dimension: number | null;
  readonly plan: IndexPlan;
  /** Kinds that values of a metadata key may have; `undefined`, and where it is left out: any. */
  readonly kindsOf?: ((key: string) => ReadonlySet<MetadataKind> | undefined) | undefined;
  readonly scanPool?: ScanPool | undefined;
  /** Keeps documents that filters have read. */
  readonly documents?: DocumentMemory | undefined;
  /** Whose reads these are: tenants have their turns one after another. */
  readonly tenant: string;
  /** Where the tenant's regular expressions run. */
  readonly regexes: TenantRegexes;
  /** Of the call that the read is made for. */
  readonly times: StageTimes;
}
