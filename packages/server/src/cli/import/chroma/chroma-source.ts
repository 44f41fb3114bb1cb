/** Reads of a server that speaks the Chroma API, version 2. Nothing is written there. */
import { SheafApiError } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { INCLUDE, type RecordPage } from "../copy/copy-collection.ts";
import { SourceServer, isStatus, requireTexts } from "../copy/source-server.ts";

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

const NAMES = 100;
const NOT_ALLOWED = 405;
const TENANTS = "/api/v2/tenants";
/** Of one page, to begin with and at most; the pages grow and shrink with what is in them. */
const FIRST_RECORDS = 100;
const MOST_RECORDS = 2_000;
const PAGE_BYTES = 8 * 2 ** 20;

export class ChromaSource {
  readonly #server: SourceServer;
  #pageRecords = FIRST_RECORDS;

  constructor({ url, token }: ChromaSourceOptions) {
    const headers: Record<string, string> = token === null ? {} : { "x-chroma-token": token };
    this.#server = new SourceServer({ product: "Chroma", url, headers });
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
      if (isStatus(error, NOT_ALLOWED)) return null;
      throw error;
    }
  }

  async collections(tenant: string, database: string): Promise<readonly SourceCollection[]> {
    const path = `${databasePath(tenant, database)}/collections`;
    const found = new Map<string, SourceCollection>();
    for (const { id, name } of await this.#all(path, ["id", "name"]))
      found.set(id, { id, name, tenant, database });
    return [...found.values()];
  }

  /** The server's description, as it wrote it. */
  describe(collection: SourceCollection): Promise<string> {
    const { tenant, database, name } = collection;
    return this.#server.text(`${databasePath(tenant, database)}/collections/${encodeURIComponent(name)}`);
  }

  count(collection: SourceCollection): Promise<number> {
    return this.#server.read(`${collectionPath(collection)}/count`, undefined, (count) => {
      if (typeof count !== "number") throw new TypeError("the count is no number");
      return count;
    });
  }

  /** Records from `offset` on, as many as fit a page; none: it was the end. */
  async records(collection: SourceCollection, offset: number): Promise<RecordPage> {
    const json = { limit: this.#pageRecords, offset, include: INCLUDE };
    const path = `${collectionPath(collection)}/get`;
    const { page, bytes } = await this.#server.readVectors(path, json, (parsed, size) => ({
      page: requirePage(parsed),
      bytes: size,
    }));
    const fitting = Math.floor((PAGE_BYTES * Math.max(page.ids.length, 1)) / bytes);
    // A page that grows at once could be many times too large where small records stand before large ones.
    this.#pageRecords = Math.max(1, Math.min(fitting, this.#pageRecords * 4, MOST_RECORDS));
    return page;
  }

  async #names(path: string): Promise<readonly string[]> {
    return (await this.#all(path, ["name"])).map(({ name }) => name);
  }

  /** Each of them once, by the first of the members. */
  async #all<K extends string>(
    path: string,
    members: readonly K[],
  ): Promise<readonly Readonly<Record<K, string>>[]> {
    const found = new Map<string, Readonly<Record<K, string>>>();
    for (let offset = 0; ; offset += NAMES) {
      const page = await this.#server.read(`${path}?limit=${NAMES}&offset=${offset}`, undefined, (parsed) =>
        requireTexts(parsed, "the list", members),
      );
      const before = found.size;
      for (const one of page) found.set(one[members[0]!], one);
      if (page.length < NAMES) return [...found.values()];
      if (found.size === before)
        throw new SheafError(
          "failed_precondition",
          `${path}: the server lists the same ${NAMES} again and again`,
        );
    }
  }
}

function requirePage(parsed: unknown): RecordPage {
  const page = parsed as RecordPage | null;
  if (!Array.isArray(page?.ids)) throw new TypeError("ids is no list");
  return page;
}

export function databasePath(tenant: string, database: string): string {
  return `${TENANTS}/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}`;
}

function collectionPath({ tenant, database, id }: SourceCollection): string {
  return `${databasePath(tenant, database)}/collections/${id}`;
}
