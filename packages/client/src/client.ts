/** Entry of the TypeScript client: embedding, tenants, databases and collections of one server. */
import { Collection, type CollectionInfo, type MetadataJson } from "./collection.ts";
import { type MembersOf, requireKnown } from "./require-known.ts";
import { type RequestOptions, Transport, type TransportOptions } from "./transport.ts";

export interface SheafClientOptions extends TransportOptions {
  readonly tenant?: string;
  readonly database?: string;
}

export interface CreateCollectionParams {
  readonly name: string;
  readonly metadata?: MetadataJson;
  readonly schema?: object;
  readonly configuration?: object;
  readonly getOrCreate?: boolean;
}

export interface PageParams {
  readonly limit?: number;
  readonly offset?: number;
}

export interface DatabaseInfo {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
}

export interface EmbedParams {
  readonly model: string;
  readonly texts: readonly string[];
  /** Task sentence for models that take one. */
  readonly instructions?: string;
}

const CLIENT_OPTIONS: MembersOf<SheafClientOptions> = {
  url: true,
  key: true,
  tenant: true,
  database: true,
  fetch: true,
};
const CREATE_COLLECTION: MembersOf<CreateCollectionParams> = {
  name: true,
  metadata: true,
  schema: true,
  configuration: true,
  getOrCreate: true,
};
const PAGE: MembersOf<PageParams> = { limit: true, offset: true };
const EMBED: MembersOf<EmbedParams> = { model: true, texts: true, instructions: true };

export interface SparseEmbedding {
  readonly indices: readonly number[];
  readonly values: readonly number[];
  readonly labels?: readonly string[] | null;
}

/**
 * Every method throws a `TypeError` for a member of its arguments that it does not know.
 *
 * @example
 * const client = new SheafClient({ url: "http://127.0.0.1:8000", key });
 * const notes = await client.createCollection({ name: "notes", getOrCreate: true });
 * await notes.add([{ id: "1", document: "Ships rise with the tide." }]);
 * const hits = await notes.search({ rank: knn({ query: "boats at sea" }), limit: 3 });
 */
export class SheafClient {
  readonly #transport: Transport;
  readonly #tenantPath: string;
  readonly #databasePath: string;

  constructor(options: SheafClientOptions) {
    requireKnown(options, CLIENT_OPTIONS, "options");
    this.#transport = new Transport(options);
    const tenant = encodeURIComponent(options.tenant ?? "default_tenant");
    const database = encodeURIComponent(options.database ?? "default_database");
    this.#tenantPath = `/api/v2/tenants/${tenant}`;
    this.#databasePath = `${this.#tenantPath}/databases/${database}`;
  }

  /** Nanoseconds since 1970 by the server's clock. */
  async heartbeat(options?: RequestOptions): Promise<number> {
    const reply = await this.#transport.get<Record<string, number>>("/api/v2/heartbeat", options);
    return reply["nanosecond heartbeat"] ?? 0;
  }

  async createTenant(name: string, options?: RequestOptions): Promise<void> {
    await this.#transport.post("/api/v2/tenants", { name }, options);
  }

  /** With its databases and collections. */
  async deleteTenant(name: string, options?: RequestOptions): Promise<void> {
    await this.#transport.delete(`/api/v2/tenants/${encodeURIComponent(name)}`, options);
  }

  /** In the client's tenant. A new tenant has none. */
  async createDatabase(name: string, options?: RequestOptions): Promise<void> {
    await this.#transport.post(`${this.#tenantPath}/databases`, { name }, options);
  }

  /** Of the client's tenant; a `NotFoundError` if it is not there. */
  getDatabase(name: string, options?: RequestOptions): Promise<DatabaseInfo> {
    return this.#transport.get<DatabaseInfo>(
      `${this.#tenantPath}/databases/${encodeURIComponent(name)}`,
      options,
    );
  }

  /** Names of all databases of the client's tenant, in order. */
  async listDatabases(options?: RequestOptions): Promise<readonly string[]> {
    const path = `${this.#tenantPath}/databases`;
    const databases = await this.#transport.get<readonly DatabaseInfo[]>(path, options);
    return databases.map(({ name }) => name);
  }

  /** Of the client's tenant, with its collections. */
  async deleteDatabase(name: string, options?: RequestOptions): Promise<void> {
    await this.#transport.delete(`${this.#tenantPath}/databases/${encodeURIComponent(name)}`, options);
  }

  async createCollection(params: CreateCollectionParams, options?: RequestOptions): Promise<Collection> {
    const { name, metadata, schema, configuration, getOrCreate } = requireKnown(
      params,
      CREATE_COLLECTION,
      "params",
    );
    const body = { name, metadata, schema, configuration, get_or_create: getOrCreate ?? false };
    const info = await this.#transport.post<CollectionInfo>(
      `${this.#databasePath}/collections`,
      body,
      options,
    );
    return new Collection(this.#transport, info);
  }

  async getCollection(name: string, options?: RequestOptions): Promise<Collection> {
    const path = `${this.#databasePath}/collections/${encodeURIComponent(name)}`;
    return new Collection(this.#transport, await this.#transport.get<CollectionInfo>(path, options));
  }

  /** Of the client's database, in the order in which they were made: all, or a page of them. */
  async listCollections(params: PageParams = {}, options?: RequestOptions): Promise<readonly Collection[]> {
    const { limit, offset = 0 } = requireKnown(params, PAGE, "params");
    const page = `?offset=${offset}${limit === undefined ? "" : `&limit=${limit}`}`;
    const path = `${this.#databasePath}/collections${page}`;
    const infos = await this.#transport.get<readonly CollectionInfo[]>(path, options);
    return infos.map((info) => new Collection(this.#transport, info));
  }

  async deleteCollection(name: string, options?: RequestOptions): Promise<void> {
    await this.#transport.delete(`${this.#databasePath}/collections/${encodeURIComponent(name)}`, options);
  }

  /** Dense vectors, one per text, and the tokens counted. */
  embed(
    params: EmbedParams,
    options?: RequestOptions,
  ): Promise<{ readonly embeddings: readonly (readonly number[])[]; readonly num_tokens: number }> {
    return this.#embed("/embed", params, options);
  }

  /** Sparse vectors with the term behind each index. */
  embedSparse(
    params: EmbedParams,
    options?: RequestOptions,
  ): Promise<{ readonly embeddings: readonly SparseEmbedding[]; readonly num_tokens: number }> {
    return this.#embed("/embed_sparse", params, options);
  }

  async #embed<T>(path: string, params: EmbedParams, options: RequestOptions | undefined): Promise<T> {
    const { model, texts, instructions } = requireKnown(params, EMBED, "params");
    const body = { texts, instructions: instructions ?? "", fetch_labels: path === "/embed_sparse" };
    return this.#transport.post<T>(path, body, options, { "x-service-embedding-model": model });
  }
}
