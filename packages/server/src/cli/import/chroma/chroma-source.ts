/** Reads of a server that speaks the Chroma API, version 2. Nothing is written there. */
import { NotFoundError, SheafApiError, SheafClient, UnreachableError } from "@sheaf/client";
import { SheafError, readJsonWithVectors } from "@sheaf/protocol";
import { INCLUDE, type RecordPage } from "../copy/copy-collection.ts";

export interface ChromaSourceOptions {
  readonly url: string;
  readonly token: string | null;
}

export interface SourceCollection {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

const NAMES = 100;
const NOT_ALLOWED = 405;
const TIMEOUT_MS = 600_000;
const TENANTS = "/api/v2/tenants";
/** Of one page, to begin with and at most; the pages grow and shrink with what is in them. */
const FIRST_RECORDS = 100;
const MOST_RECORDS = 2_000;
const PAGE_BYTES = 8 * 2 ** 20;

export class ChromaSource {
  readonly #client: SheafClient;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #pageRecords = FIRST_RECORDS;

  constructor({ url, token }: ChromaSourceOptions) {
    this.#client = new SheafClient({ url, timeoutMs: TIMEOUT_MS });
    this.#url = url;
    this.#headers = token === null ? {} : { "x-chroma-token": token };
  }

  /** All, where the server lists them, which Chroma's does not: `null`. */
  async tenants(): Promise<readonly string[] | null> {
    try {
      return await this.#names(TENANTS);
    } catch (error) {
      if (error instanceof SheafApiError && error.status < 500) return null;
      throw error;
    }
  }

  /** Of a tenant. `null` where the server does not list them (0.5). `not_found` for a tenant that is not there. */
  async databases(tenant: string): Promise<readonly string[] | null> {
    try {
      return await this.#names(`${TENANTS}/${encodeURIComponent(tenant)}/databases`);
    } catch (error) {
      if (error instanceof SheafApiError && error.status === NOT_ALLOWED) return null;
      throw error;
    }
  }

  async collections(tenant: string, database: string): Promise<readonly SourceCollection[]> {
    const path = `${databasePath(tenant, database)}/collections`;
    const found = new Map<string, SourceCollection>();
    for (const { id, name } of await this.#all<Named>(path)) found.set(id, { id, name, tenant, database });
    return [...found.values()];
  }

  /** The server's description, as it wrote it. */
  describe(collection: SourceCollection): Promise<string> {
    const { tenant, database, name } = collection;
    return this.#ask(`${databasePath(tenant, database)}/collections/${encodeURIComponent(name)}`);
  }

  async count(collection: SourceCollection): Promise<number> {
    return JSON.parse(await this.#ask(`${collectionPath(collection)}/count`)) as number;
  }

  /** Records from `offset` on, as many as fit a page; none: it was the end. */
  async records(collection: SourceCollection, offset: number): Promise<RecordPage> {
    const json = { limit: this.#pageRecords, offset, include: INCLUDE };
    const text = await this.#ask(`${collectionPath(collection)}/get`, json);
    const page = readJsonWithVectors(Buffer.from(text)) as RecordPage;
    const bytesPerRecord = text.length / Math.max(page.ids.length, 1);
    const fitting = Math.floor(PAGE_BYTES / bytesPerRecord);
    // A page that grows at once could be many times too large where small records stand before large ones.
    this.#pageRecords = Math.max(1, Math.min(fitting, this.#pageRecords * 4, MOST_RECORDS));
    return page;
  }

  async #names(path: string): Promise<readonly string[]> {
    return [...new Set((await this.#all<Named>(path)).map(({ name }) => name))];
  }

  async #all<T>(path: string): Promise<readonly T[]> {
    const found: T[] = [];
    for (;;) {
      const page = JSON.parse(await this.#ask(`${path}?limit=${NAMES}&offset=${found.length}`)) as T[];
      found.push(...page);
      if (page.length < NAMES) return found;
    }
  }

  /** Every request is a read, and may be repeated. */
  async #ask(path: string, json?: object): Promise<string> {
    const method = json === undefined ? "GET" : "POST";
    try {
      return await this.#client.request<string>({ method, path, json, headers: this.#headers, text: true });
    } catch (cause) {
      if (cause instanceof UnreachableError)
        throw new SheafError("unavailable", `no Chroma server answers at ${this.#url}`, { cause });
      if (cause instanceof NotFoundError)
        throw new SheafError("not_found", `${this.#url} answered 404: ${cause.message}`, { cause });
      throw cause;
    }
  }
}

export function databasePath(tenant: string, database: string): string {
  return `${TENANTS}/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}`;
}

function collectionPath({ tenant, database, id }: SourceCollection): string {
  return `${databasePath(tenant, database)}/collections/${id}`;
}
