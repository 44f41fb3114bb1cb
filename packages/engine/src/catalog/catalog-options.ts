/** What a catalog is opened with. */
import type { CatalogQuotas } from "./tenant-counts.ts";

export interface CatalogOptions {
  /** By default nothing is bounded. */
  readonly quotas?: CatalogQuotas;
  /** Collections that are made have a share of an environment; by default one of their own. */
  readonly shares?: boolean;
  /** Whether no new collection should have this id. */
  readonly avoid?: ((id: string) => boolean) | undefined;
  /** As of an engine. */
  readonly callersWait?: (() => Promise<unknown> | undefined) | undefined;
  /** Id of the data folder, where other servers write the same catalog. */
  readonly cache?: string;
}

export const NO_CATALOG_QUOTAS: CatalogQuotas = Object.freeze({ databases: 0, collections: 0, keys: 0 });
