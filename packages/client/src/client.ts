/** Entry of the TypeScript client: embedding, tenants, databases, collections and keys of one server. */
import {
  type ApiKey,
  CREATE_KEY,
  type CreateKeyParams,
  type IssuedKey,
  ROTATE_KEY,
  type RotateKeyParams,
  apiKey,
  issuedKey,
  keyBody,
} from "./catalog/api-key.ts";
import {
  type Backup,
  type BackupReply,
  CREATE_BACKUP,
  type CreateBackupParams,
  backupOf,
} from "./catalog/backup.ts";
import {
  type CollectionReply,
  CREATE_COLLECTION,
  type CreateCollectionParams,
} from "./catalog/collection-info.ts";
import {
  type DatabaseInfo,
  ID,
  type IdParams,
  type Identity,
  type ListParams,
  NAME,
  type NameParams,
  PAGE,
  type PageParams,
  type PagesParams,
  RESOURCE,
  type ResourceParams,
  type TenantInfo,
  type TenantReply,
  UPDATE_TENANT,
  type UpdateTenantParams,
  identityOf,
  knownCall as known,
  pageQuery,
  tenantInfo,
} from "./catalog/params.ts";
import { readPage } from "./catalog/read-page.ts";
import {
  type CurrentKey,
  type MetricsHistory,
  type Model,
  type ModelParams,
  type ModelReply,
  PULL,
  type TenantUsage,
  currentKeyOf,
  metricsHistoryOf,
  modelOf,
  tenantUsageOf,
} from "./catalog/state.ts";
import {
  CLIENT_OPTIONS,
  REQUEST,
  type RequestParams,
  SCOPE,
  type ScopeParams,
  type SheafClientOptions,
} from "./client-options.ts";
import { Collection } from "./collection.ts";
import {
  type EmbedParams,
  type EmbedReply,
  type EmbedSparseParams,
  type Embeddings,
  type SparseEmbedding,
  denseRequest,
  embeddings,
  sparseRequest,
} from "./embedding.ts";
import { BusyError } from "./errors.ts";
import { type Page, type Pages, pages } from "./pages.ts";
import type { Metadata, MetadataShape } from "./records/metadata.ts";
import { requireKnown } from "./require-known.ts";
import { type PreFlightChecks, ServerLimits } from "./server-limits.ts";
import { type CallOptions, Transport } from "./transport.ts";

const BACKUPS = "/api/v2/backups";
const KEYS = "/api/v2/keys";
const MODELS = "/api/v2/models";
const TENANTS = "/api/v2/tenants";
const TENANT_LIST = { path: TENANTS, read: tenantInfo };
const KEY_LIST = { path: KEYS, read: apiKey };

/**
 * One params object for each method, with `signal` and `timeoutMs` among its members. A member that is not known is a
 * `TypeError`, and nothing is sent.
 *
 * @example
 * const client = new SheafClient({ url: "http://127.0.0.1:8000", key });
 * const notes = await client.createCollection<{ year: number }>({ name: "notes", schema: hybridSchema(), getOrCreate: true });
 * await notes.upsert({ records: [{ id: "1", document: "Ships rise with the tide.", metadata: { year: 1998 } }] });
 * const hits = await notes.search({ rank: knn({ query: "boats at sea" }), limit: 3 });
 */
export class SheafClient {
  readonly #options: SheafClientOptions;
  readonly #transport: Transport;
  readonly #limits: ServerLimits;
  readonly #tenantPath: string;
  readonly #databasePath: string;

  constructor(options: SheafClientOptions) {
    this.#options = requireKnown(options, CLIENT_OPTIONS, "options");
    this.#transport = new Transport(options);
    this.#limits = new ServerLimits(this.#transport);
    const { tenant = "default_tenant", database = "default_database" } = options;
    this.#tenantPath = `${TENANTS}/${encodeURIComponent(tenant)}`;
    this.#databasePath = `${this.#tenantPath}/databases/${encodeURIComponent(database)}`;
  }

  /** A client for another tenant or database of the same server. */
  scoped(params: ScopeParams): SheafClient {
    return new SheafClient({ ...this.#options, ...requireKnown(params, SCOPE, "params") });
  }

  /** Sends a request that has no method here, and gives the server's JSON. */
  async request<T>(params: RequestParams): Promise<T> {
    return this.#transport.send<T>(requireKnown(params, REQUEST, "params"), params);
  }

  /** Nanoseconds since 1970 by the server's clock. */
  async heartbeat(params: CallOptions = {}): Promise<number> {
    const reply = await this.#get<Record<string, number>>("/api/v2/heartbeat", known(params));
    return reply["nanosecond heartbeat"] ?? 0;
  }

  /** Whether the server serves: not while it starts or stops, or while its engine does not answer. */
  async isReady(params: CallOptions = {}): Promise<boolean> {
    try {
      await this.#transport.send({ method: "GET", path: "/readyz", repeatable: false }, known(params));
      return true;
    } catch (error) {
      if (error instanceof BusyError) return false;
      throw error;
    }
  }

  /** Of the interface, not of the server. */
  async version(params: CallOptions = {}): Promise<string> {
    return this.#get("/api/v2/version", known(params));
  }

  /** What the server takes: in one write, and beside what Chroma does. Writes ask for it by themselves. */
  async preFlightChecks(params: CallOptions = {}): Promise<PreFlightChecks> {
    return this.#limits.get(known(params));
  }

  /** Who the key speaks for. */
  async identity(params: CallOptions = {}): Promise<Identity> {
    return identityOf(await this.#get("/api/v2/auth/identity", known(params)));
  }

  /** In the text format of Prometheus. */
  async metrics(params: CallOptions = {}): Promise<string> {
    return this.#transport.send({ method: "GET", path: "/metrics", text: true }, known(params));
  }

  /** Requests and the time of their stages over the last hour, every ten seconds. */
  async metricsHistory(params: CallOptions = {}): Promise<MetricsHistory> {
    return metricsHistoryOf(await this.#get("/api/v2/metrics/history", known(params)));
  }

  /** What the client's tenant has, and what it may have; its collections from `offset` on, at most `limit`. */
  async usage(params: PageParams = {}): Promise<TenantUsage> {
    const query = pageQuery(requireKnown(params, PAGE, "params"));
    return tenantUsageOf(await this.#get(`${this.#tenantPath}/usage${query}`, params));
  }

  /** Every model that the server knows. */
  async listModels(params: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.#get<readonly ModelReply[]>(MODELS, known(params))).map(modelOf);
  }

  /** Has the server fetch the weights of a model, which goes on when this resolves; `listModels` says how far it is. */
  async pullModel(params: ModelParams): Promise<Model> {
    const { model } = requireKnown(params, PULL, "params");
    const request = { method: "POST", path: `${MODELS}/pull`, json: { model } } as const;
    return modelOf(await this.#transport.send<ModelReply>(request, params));
  }

  /** Removes everything, where the server allows it. */
  async reset(params: CallOptions = {}): Promise<void> {
    await this.#transport.send({ method: "POST", path: "/api/v2/reset" }, known(params));
  }

  async createTenant(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#make(TENANTS, { name }, params);
  }

  async getTenant(params: NameParams): Promise<TenantInfo> {
    const { name } = requireKnown(params, NAME, "params");
    return tenantInfo(await this.#get<TenantReply>(`${TENANTS}/${encodeURIComponent(name)}`, params));
  }

  /** By name: all, or a page of them. */
  async listTenants(params: PageParams = {}): Promise<readonly TenantInfo[]> {
    return (await readPage(this.#transport, TENANT_LIST, requireKnown(params, PAGE, "params"))).items;
  }

  tenants(params: PagesParams = {}): Pages<TenantInfo> {
    return pages(params, (page) => readPage(this.#transport, TENANT_LIST, page));
  }

  async updateTenant(params: UpdateTenantParams): Promise<void> {
    const { name, resourceName } = requireKnown(params, UPDATE_TENANT, "params");
    const path = `${TENANTS}/${encodeURIComponent(name)}`;
    await this.#transport.send({ method: "PATCH", path, json: { resource_name: resourceName } }, params);
  }

  /** With its databases and collections. */
  async deleteTenant(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#delete(`${TENANTS}/${encodeURIComponent(name)}`, params);
  }

  /** In the client's tenant. A new tenant has none. */
  async createDatabase(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#make(`${this.#tenantPath}/databases`, { name }, params);
  }

  /** Of the client's tenant; a `NotFoundError` if it is not there. */
  async getDatabase(params: NameParams): Promise<DatabaseInfo> {
    const { name } = requireKnown(params, NAME, "params");
    return this.#get(`${this.#tenantPath}/databases/${encodeURIComponent(name)}`, params);
  }

  /** Of the client's tenant, by name: all, or a page of them. */
  async listDatabases(params: PageParams = {}): Promise<readonly DatabaseInfo[]> {
    return (await this.#databases(requireKnown(params, PAGE, "params"))).items;
  }

  databases(params: PagesParams = {}): Pages<DatabaseInfo> {
    return pages(params, (page) => this.#databases(page));
  }

  /** Of the client's tenant, with its collections. */
  async deleteDatabase(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#delete(`${this.#tenantPath}/databases/${encodeURIComponent(name)}`, params);
  }

  /** @typeParam M Metadata of its records; nothing checks it but the compiler. */
  async createCollection<M extends MetadataShape<M> = Metadata>(
    params: CreateCollectionParams,
  ): Promise<Collection<M>> {
    const { getOrCreate = false, ...wanted } = requireKnown(params, CREATE_COLLECTION, "params");
    const { name, metadata, schema, configuration } = wanted;
    const json = { name, metadata, schema, configuration, get_or_create: getOrCreate };
    const path = `${this.#databasePath}/collections`;
    const request = { method: "POST", path, json, repeatable: getOrCreate } as const;
    return this.#collection(await this.#transport.send(request, params));
  }

  async getCollection<M extends MetadataShape<M> = Metadata>(params: NameParams): Promise<Collection<M>> {
    const { name } = requireKnown(params, NAME, "params");
    const path = `${this.#databasePath}/collections/${encodeURIComponent(name)}`;
    return this.#collection(await this.#get(path, params));
  }

  async getCollectionById<M extends MetadataShape<M> = Metadata>(params: IdParams): Promise<Collection<M>> {
    const { id } = requireKnown(params, ID, "params");
    const path = `${this.#databasePath}/collections/by-id/${encodeURIComponent(id)}`;
    return this.#collection(await this.#get(path, params));
  }

  /** Of another tenant or database, by the resource name of the tenant. */
  async getCollectionByResource<M extends MetadataShape<M> = Metadata>(
    params: ResourceParams,
  ): Promise<Collection<M>> {
    const { tenant, database, name } = requireKnown(params, RESOURCE, "params");
    const resource = [tenant, database, name].map(encodeURIComponent).join(":");
    return this.#collection(await this.#get(`/api/v2/collections/${resource}`, params));
  }

  /** Of the client's database, in the order in which they were made: all, or a page of them. */
  async listCollections(params: PageParams = {}): Promise<readonly Collection[]> {
    return (await this.#collections(requireKnown(params, PAGE, "params"))).items;
  }

  collections(params: PagesParams = {}): Pages<Collection> {
    return pages(params, (page) => this.#collections(page));
  }

  async countCollections(params: CallOptions = {}): Promise<number> {
    return this.#get(`${this.#databasePath}/collections_count`, known(params));
  }

  async deleteCollection(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#delete(`${this.#databasePath}/collections/${encodeURIComponent(name)}`, params);
  }

  /** The answer holds the key itself, this once. */
  async createKey(params: CreateKeyParams): Promise<IssuedKey> {
    const json = keyBody(requireKnown(params, CREATE_KEY, "params"));
    return issuedKey(await this.#make(KEYS, json, params));
  }

  /** What the client's own key may do. */
  async currentKey(params: CallOptions = {}): Promise<CurrentKey> {
    return currentKeyOf(await this.#get(`${KEYS}/current`, known(params)));
  }

  /** Oldest first: all, or a page of them. */
  async listKeys(params: PageParams = {}): Promise<readonly ApiKey[]> {
    return (await readPage(this.#transport, KEY_LIST, requireKnown(params, PAGE, "params"))).items;
  }

  keys(params: PagesParams = {}): Pages<ApiKey> {
    return pages(params, (page) => readPage(this.#transport, KEY_LIST, page));
  }

  /** A key in the place of another, which goes on for an overlap. */
  async rotateKey(params: RotateKeyParams): Promise<IssuedKey> {
    const { id, overlapSeconds, expiresAt } = requireKnown(params, ROTATE_KEY, "params");
    const json = { overlap_seconds: overlapSeconds, expires_at: expiresAt?.toISOString() };
    return issuedKey(await this.#make(`${KEYS}/${encodeURIComponent(id)}/rotate`, json, params));
  }

  /** Ends a key at once. */
  async revokeKey(params: IdParams): Promise<void> {
    const { id } = requireKnown(params, ID, "params");
    await this.#delete(`${KEYS}/${encodeURIComponent(id)}`, params);
  }

  /** In the background, below the server's folder for backups. `getBackup` says how far it is. */
  async createBackup(params: CreateBackupParams): Promise<Backup> {
    const { name, incremental, tenant, keys } = requireKnown(params, CREATE_BACKUP, "params");
    return backupOf(await this.#make(BACKUPS, { name, incremental, tenant, keys }, params));
  }

  /** The newest first. */
  async listBackups(params: CallOptions = {}): Promise<readonly Backup[]> {
    return (await this.#get<readonly BackupReply[]>(BACKUPS, known(params))).map(backupOf);
  }

  async getBackup(params: NameParams): Promise<Backup> {
    const { name } = requireKnown(params, NAME, "params");
    return backupOf(await this.#get(`${BACKUPS}/${encodeURIComponent(name)}`, params));
  }

  /** One that is being made; complete ones stay. */
  async cancelBackup(params: NameParams): Promise<void> {
    const { name } = requireKnown(params, NAME, "params");
    await this.#delete(`${BACKUPS}/${encodeURIComponent(name)}`, params);
  }

  /** Dense vectors, one per text. */
  async embed(params: EmbedParams): Promise<Embeddings<readonly number[]>> {
    const request = denseRequest(params);
    const answer = await this.#transport.sendForAnswer<EmbedReply<readonly number[]>>(request, params);
    return embeddings(answer);
  }

  /** Sparse vectors, one per text. */
  async embedSparse(params: EmbedSparseParams): Promise<Embeddings<SparseEmbedding>> {
    const request = sparseRequest(params);
    const answer = await this.#transport.sendForAnswer<EmbedReply<SparseEmbedding>>(request, params);
    return embeddings(answer);
  }

  #databases(page: ListParams): Promise<Page<DatabaseInfo>> {
    const path = `${this.#tenantPath}/databases`;
    return readPage(this.#transport, { path, read: (reply: DatabaseInfo) => reply }, page);
  }

  #collections(page: ListParams): Promise<Page<Collection>> {
    const read = (reply: CollectionReply): Collection => this.#collection(reply);
    return readPage(this.#transport, { path: `${this.#databasePath}/collections`, read }, page);
  }

  #collection<M extends MetadataShape<M>>(reply: CollectionReply): Collection<M> {
    return new Collection<M>({ transport: this.#transport, limits: this.#limits }, reply);
  }

  #get<T>(path: string, options: CallOptions): Promise<T> {
    return this.#transport.send({ method: "GET", path }, options);
  }

  /** What is gone the second time is refused. */
  #delete(path: string, options: CallOptions): Promise<unknown> {
    return this.#transport.send({ method: "DELETE", path, repeatable: false }, options);
  }

  /** What a second time would be refused, or make twice. */
  #make<T>(path: string, json: object, options: CallOptions): Promise<T> {
    return this.#transport.send({ method: "POST", path, json, repeatable: false }, options);
  }
}
