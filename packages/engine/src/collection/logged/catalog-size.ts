/** How large the catalog is, for metrics: a database that is slow or away must not hold up what else is measured. */
import type { Catalog } from "../../catalog/catalog.ts";
import type { EngineStatistics } from "../../engine.ts";
import { within } from "../../storage/within.ts";

type Size = Pick<EngineStatistics, "collections" | "catalogBytes">;

/** Below what a collector of metrics waits for. */
const ANSWER_MS = 400;

export class CatalogSize {
  readonly #catalog: Pick<Catalog, "collectionCount" | "bytes">;
  #known: Size = { collections: 0, catalogBytes: 0 };
  #asking: Promise<void> | null = null;

  constructor(catalog: Pick<Catalog, "collectionCount" | "bytes">) {
    this.#catalog = catalog;
  }

  /** As the catalog says, or as it said last where it does not answer in time. */
  async read(): Promise<Size> {
    this.#asking ??= this.#ask().finally(() => void (this.#asking = null));
    await within(this.#asking, ANSWER_MS);
    return this.#known;
  }

  async #ask(): Promise<void> {
    try {
      const [collections, catalogBytes] = await Promise.all([
        this.#catalog.collectionCount(),
        this.#catalog.bytes(),
      ]);
      this.#known = { collections, catalogBytes };
    } catch {
      // The age of what is known of the database says so.
    }
  }
}
