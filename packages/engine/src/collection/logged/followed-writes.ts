/**
 * Writers tell the catalog what their records brought: new keys and the first dimension before they acknowledge a write, and how far
 * they are within a second. One that ended in between has told nothing, so each server that has followed its write makes good for it.
 */
import { extendSchema } from "@sheaf/protocol";
import type { CollectionProgress } from "../../catalog/checkpoint-catalog.ts";
import type { StoreHead } from "../../storage/record-store.ts";
import type { OpenCollectionOptions } from "../open-collection-options.ts";
import type { SchemaInference } from "../schema-inference.ts";

/** By then a writer that lives has told it. */
const LATER_MS = 3_000;

type Telling = Pick<OpenCollectionOptions, "tells" | "advance" | "onProblem">;
type Learnt = Pick<SchemaInference, "news" | "published">;

export class FollowedWrites {
  readonly #options: Telling;
  readonly #kinds: Learnt;
  #newest: StoreHead | null = null;
  #later: NodeJS.Timeout | null = null;
  #telling: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: Telling, kinds: Learnt) {
    this.#options = options;
    this.#kinds = kinds;
  }

  /** After the index has the write. Keys and dimension are in the catalog when it resolves, or will be told later. */
  async hear(head: StoreHead): Promise<void> {
    if (!this.#options.tells) return;
    const isFirst = this.#newest?.dimension !== head.dimension;
    this.#newest = head;
    this.#schedule();
    if (isFirst || this.#kinds.news !== null) await this.#tell({ dimension: head.dimension });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#later !== null) clearTimeout(this.#later);
    await this.#telling;
  }

  #schedule(): void {
    if (this.#isClosed || this.#later !== null) return;
    this.#later = setTimeout(() => {
      this.#later = null;
      const { sequence, dimension } = this.#newest!;
      this.#telling = this.#tell({ logPosition: sequence, dimension });
    }, LATER_MS).unref();
  }

  /** Never rejects: a read that has followed a write is not at fault. */
  async #tell(progress: CollectionProgress): Promise<void> {
    const { news } = this.#kinds;
    try {
      await this.#options.advance({
        ...progress,
        extend: (schema) => extendSchema(schema, news ?? new Map()),
      });
      if (news !== null) this.#kinds.published(news);
    } catch (error) {
      this.#options.onProblem(error);
      this.#schedule();
    }
  }
}
