/** Reads of a Qdrant server over its REST interface. Nothing is written there. */
import { SheafApiError } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { SourceServer, requireTexts } from "../copy/source-server.ts";

export interface QdrantSourceOptions {
  readonly url: string;
  readonly apiKey: string | null;
}

export interface VectorParams {
  readonly size: number;
  /** `Cosine`, `Euclid`, `Dot` or `Manhattan`. */
  readonly distance: string;
  /** Each point has several vectors under this name. */
  readonly multivector_config?: unknown;
}

export interface QdrantCollection {
  readonly name: string;
  /** Dense vectors by name; the one without a name is under "". */
  readonly vectors: Readonly<Record<string, VectorParams>>;
  readonly sparseVectors: Readonly<Record<string, { readonly modifier?: string | null }>>;
}

/** Of an answer to a scroll, as `readJsonWithVectors` gives it. */
export interface QdrantPoint {
  readonly id: number | bigint | string;
  readonly payload?: Readonly<Record<string, unknown>> | null;
  readonly vector?: unknown;
}

export interface PointPage {
  readonly points: readonly QdrantPoint[];
  /** Id of the first point behind these, as it is sent; `null`: there is none. */
  readonly next: number | string | null;
}

interface CollectionInfo {
  readonly config: {
    readonly params: {
      readonly vectors?: VectorParams | Readonly<Record<string, VectorParams>> | null;
      readonly sparse_vectors?: QdrantCollection["sparseVectors"] | null;
    };
  };
}

interface ScrollResult {
  readonly points: readonly QdrantPoint[];
  readonly next_page_offset?: unknown;
}

/** Of one page, to begin with and at most; the pages grow and shrink with what is in them. */
const FIRST_POINTS = 100;
const MOST_POINTS = 1_000;
const PAGE_BYTES = 8 * 2 ** 20;

export class QdrantSource {
  readonly #server: SourceServer;
  readonly #url: string;
  #pagePoints = FIRST_POINTS;

  constructor({ url, apiKey }: QdrantSourceOptions) {
    const headers: Record<string, string> = apiKey === null ? {} : { "api-key": apiKey };
    this.#server = new SourceServer({ product: "Qdrant", url, headers });
    this.#url = url;
  }

  async collections(): Promise<readonly string[]> {
    const all = await this.#read("/collections", undefined, (result) =>
      requireTexts((result as { readonly collections?: unknown }).collections, "collections", ["name"]),
    );
    return all.map(({ name }) => name);
  }

  describe(name: string): Promise<QdrantCollection> {
    return this.#read(pathOf(name), undefined, (result) => {
      const { vectors, sparse_vectors: sparse } = (result as CollectionInfo).config.params;
      const isOne = typeof (vectors as VectorParams | undefined)?.size === "number";
      return {
        name,
        vectors: (isOne ? { "": vectors } : (vectors ?? {})) as QdrantCollection["vectors"],
        sparseVectors: sparse ?? {},
      };
    });
  }

  count(name: string): Promise<number> {
    return this.#read(`${pathOf(name)}/points/count`, { exact: true }, (result) => {
      const { count } = result as { readonly count?: unknown };
      if (typeof count !== "number") throw new TypeError("the count is no number");
      return count;
    });
  }

  /** @param offset Id of the first one, as a page before named it. */
  async points(name: string, offset: PointPage["next"]): Promise<PointPage> {
    const json = { limit: this.#pagePoints, offset, with_payload: true, with_vector: true };
    const path = `${pathOf(name)}/points/scroll`;
    // Whole numbers apart from others, which metadata tells apart.
    const { points, last, bytes } = await this.#told(path, () =>
      this.#server.readVectors(path, json, (parsed, size) => {
        const { result } = parsed as { readonly result: ScrollResult };
        if (!Array.isArray(result.points)) throw new TypeError("points is no list");
        return { points: result.points, last: result.next_page_offset, bytes: size };
      }),
    );
    const fitting = Math.floor((PAGE_BYTES * Math.max(points.length, 1)) / bytes);
    this.#pagePoints = Math.max(1, Math.min(fitting, this.#pagePoints * 4, MOST_POINTS));
    const next = cursorOf(last);
    if (next !== null && next === offset)
      throw new SheafError("failed_precondition", `${this.#url}${path} gives the same page again and again`);
    return { points, next };
  }

  #read<T>(path: string, json: object | undefined, read: (result: unknown) => T): Promise<T> {
    return this.#told(path, () =>
      this.#server.read(path, json, (parsed) => read((parsed as { readonly result: unknown }).result)),
    );
  }

  /** With the address in what the server refuses. */
  async #told<T>(path: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      if (!(cause instanceof SheafApiError)) throw cause;
      const message = `${this.#url}${path} answered ${cause.status}: ${cause.message}`;
      throw new SheafError("unavailable", message, { cause });
    }
  }
}

function pathOf(collection: string): string {
  return `/collections/${encodeURIComponent(collection)}`;
}

function cursorOf(next: unknown): PointPage["next"] {
  if (typeof next === "string" || typeof next === "number") return next;
  if (typeof next !== "bigint") return null;
  throw new SheafError("unimplemented", `a point has the id ${next}; ids over 2^53 - 1 are not supported`);
}
