/** Reads of a Qdrant server over its REST interface. Nothing is written there. */
import { NotFoundError, SheafApiError, SheafClient, UnreachableError } from "@sheaf/client";
import { SheafError, readJsonWithVectors } from "@sheaf/protocol";

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

const TIMEOUT_MS = 600_000;
/** Of one page, to begin with and at most; the pages grow and shrink with what is in them. */
const FIRST_POINTS = 100;
const MOST_POINTS = 1_000;
const PAGE_BYTES = 8 * 2 ** 20;

export class QdrantSource {
  readonly #client: SheafClient;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #pagePoints = FIRST_POINTS;

  constructor({ url, apiKey }: QdrantSourceOptions) {
    this.#client = new SheafClient({ url, timeoutMs: TIMEOUT_MS });
    this.#url = url;
    this.#headers = apiKey === null ? {} : { "api-key": apiKey };
  }

  async collections(): Promise<readonly string[]> {
    const text = await this.#ask("/collections");
    const { collections } = resultOf(text) as { readonly collections: readonly { readonly name: string }[] };
    return collections.map(({ name }) => name);
  }

  async describe(name: string): Promise<QdrantCollection> {
    const { config } = resultOf(await this.#ask(pathOf(name))) as CollectionInfo;
    const { vectors, sparse_vectors: sparse } = config.params;
    const isOne = typeof (vectors as VectorParams | undefined)?.size === "number";
    return {
      name,
      vectors: (isOne ? { "": vectors } : (vectors ?? {})) as QdrantCollection["vectors"],
      sparseVectors: sparse ?? {},
    };
  }

  async count(name: string): Promise<number> {
    const text = await this.#ask(`${pathOf(name)}/points/count`, { exact: true });
    return (resultOf(text) as { readonly count: number }).count;
  }

  /** @param offset Id of the first one, as a page before named it. */
  async points(name: string, offset: PointPage["next"]): Promise<PointPage> {
    const json = { limit: this.#pagePoints, offset, with_payload: true, with_vector: true };
    const text = await this.#ask(`${pathOf(name)}/points/scroll`, json);
    // Whole numbers apart from others, which metadata tells apart.
    const { result } = readJsonWithVectors(Buffer.from(text)) as {
      readonly result: { readonly points: readonly QdrantPoint[]; readonly next_page_offset?: unknown };
    };
    const bytesPerPoint = text.length / Math.max(result.points.length, 1);
    const fitting = Math.floor(PAGE_BYTES / bytesPerPoint);
    this.#pagePoints = Math.max(1, Math.min(fitting, this.#pagePoints * 4, MOST_POINTS));
    return { points: result.points, next: cursorOf(result.next_page_offset) };
  }

  /** Every request is a read, and may be repeated. */
  async #ask(path: string, json?: object): Promise<string> {
    const method = json === undefined ? "GET" : "POST";
    try {
      return await this.#client.request<string>({ method, path, json, headers: this.#headers, text: true });
    } catch (cause) {
      if (cause instanceof UnreachableError)
        throw new SheafError("unavailable", `no Qdrant server answers at ${this.#url}`, { cause });
      if (!(cause instanceof SheafApiError)) throw cause;
      const message = `${this.#url}${path} answered ${cause.status}: ${cause.message}`;
      throw new SheafError(cause instanceof NotFoundError ? "not_found" : "unavailable", message, { cause });
    }
  }
}

function pathOf(collection: string): string {
  return `/collections/${encodeURIComponent(collection)}`;
}

function resultOf(text: string): unknown {
  return (JSON.parse(text) as { readonly result: unknown }).result;
}

function cursorOf(next: unknown): PointPage["next"] {
  if (typeof next === "string" || typeof next === "number") return next;
  if (typeof next !== "bigint") return null;
  throw new SheafError("unimplemented", `a point has the id ${next}; ids over 2^53 - 1 are not supported`);
}
