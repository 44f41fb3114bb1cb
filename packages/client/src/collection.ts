/** One collection of a server: writes, reads and searches of its records. Made by `SheafClient`. */
import {
  type CollectionInfo,
  type CollectionReply,
  MODIFY_COLLECTION,
  type ModifyCollectionParams,
  collectionInfo,
} from "./catalog/collection-info.ts";
import { NAME, type NameParams, knownCall as known } from "./catalog/params.ts";
import { SheafClientError } from "./errors.ts";
import { type Pages, countedPages } from "./pages.ts";
import {
  type CountParams,
  type Facet,
  type FacetValue,
  type FacetsParams,
  countJson,
  facetsJson,
} from "./records/facets.ts";
import type { HighlightInput, Highlighted } from "./records/highlight.ts";
import type { Metadata, MetadataShape } from "./records/metadata.ts";
import {
  DELETE,
  type DeleteParams,
  GET,
  type GetParams,
  type QueryParams,
  RECORDS,
  type RecordsParams,
  SEARCH_ALL,
  type SearchAllParams,
  type Searches,
  type SearchParams,
  type SearchRow,
  getReading,
  queryReading,
  explainReading,
  searchReading,
  searchReadings,
  selectorJson,
} from "./records/read.ts";
import {
  type ColumnRows,
  type Columns,
  type DefaultGetKey,
  type DefaultQueryKey,
  type DefaultSearchKey,
  type GetKey,
  type QueryKey,
  type Row,
  type SearchKey,
  rowsOf,
  splitRows,
} from "./records/row.ts";
import { type CommitParams, type Committed, commitJson } from "./records/transaction.ts";
import {
  type RecordChange,
  type RecordInput,
  WRITE,
  type WriteLimits,
  type WriteParams,
  columnsOf,
  inWholeWrite,
  needsLimits,
  requireBatchSize,
  requireRecords,
  writeBatches,
} from "./records/write.ts";
import {
  type ExplainedReply,
  type ExplainedSearch,
  type ExplainParams,
  explainedSearch,
} from "./records/explained.ts";
import { requireKnown } from "./require-known.ts";
import type { KeyInput, KeyName } from "./search/key.ts";
import type { SearchCheck } from "./search/search-check.ts";
import type { AnySearch } from "./search/search.ts";
import type { ServerLimits } from "./server-limits.ts";
import { type CallOptions, type Transport } from "./transport.ts";

export interface IndexingStatus {
  /** From 0 to 1. */
  readonly progress: number;
  /** Operations that searches see, but that are not counted as indexed yet. */
  readonly unindexedOperations: number;
  readonly indexedOperations: number;
  readonly totalOperations: number;
}

export interface ModelWeights {
  readonly revision: string;
  readonly digest: string;
}

/** A model whose weights were others when the collection was written. */
export interface AcceptedModel extends ModelWeights {
  readonly model: string;
  readonly before: ModelWeights;
}

interface Server {
  readonly transport: Transport;
  readonly limits: ServerLimits;
}

type WriteKind = "add" | "upsert" | "update";

const NO_LIMITS: WriteLimits = { maxBatchSize: Number.POSITIVE_INFINITY, supportsBase64Encoding: false };
const RECORDS_PER_PAGE = 500;

/**
 * Records, and how they are written, read and searched. Made by the methods of `SheafClient`.
 *
 * @typeParam M Metadata of its records; nothing checks it but the compiler.
 */
export class Collection<M extends MetadataShape<M> = Metadata> {
  readonly #server: Server;
  readonly #path: string;
  #info: CollectionInfo;

  /** @internal Use the methods of `SheafClient`. */
  constructor(server: Server, reply: CollectionReply) {
    this.#server = server;
    this.#info = collectionInfo(reply);
    const { tenant, database } = reply;
    this.#path = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`;
  }

  /** As of the last call that read it; `refresh` reads it again. */
  get info(): CollectionInfo {
    return this.#info;
  }

  get id(): string {
    return this.#info.id;
  }

  get name(): string {
    return this.#info.name;
  }

  async refresh(params: CallOptions = {}): Promise<CollectionInfo> {
    const path = `${this.#path}/by-id/${this.id}`;
    const reply = await this.#server.transport.send<CollectionReply>({ method: "GET", path }, known(params));
    this.#info = collectionInfo(reply);
    return this.#info;
  }

  /** Changes the name, the metadata as a whole, or the configuration. */
  async modify(params: ModifyCollectionParams): Promise<void> {
    const { name, metadata, configuration, ...call } = requireKnown(params, MODIFY_COLLECTION, "params");
    const json = { new_name: name, new_metadata: metadata, new_configuration: configuration };
    await this.#server.transport.send({ method: "PUT", path: `${this.#path}/${this.id}`, json }, call);
    await this.refresh(call);
  }

  /** A collection of its own with all records at one moment. */
  async fork(params: NameParams): Promise<Collection<M>> {
    const { name, ...call } = requireKnown(params, NAME, "params");
    const reply = await this.#post<CollectionReply>("fork", { new_name: name }, call, false);
    return new Collection<M>(this.#server, reply);
  }

  /** Forks made in the tree of forks that this belongs to, deleted ones too. */
  async forkCount(params: CallOptions = {}): Promise<number> {
    return (await this.#get<{ count: number }>("fork_count", params)).count;
  }

  async indexingStatus(params: CallOptions = {}): Promise<IndexingStatus> {
    const reply = await this.#get<Record<string, number>>("indexing_status", params);
    return {
      progress: reply["op_indexing_progress"] ?? 0,
      unindexedOperations: reply["num_unindexed_ops"] ?? 0,
      indexedOperations: reply["num_indexed_ops"] ?? 0,
      totalOperations: reply["total_ops"] ?? 0,
    };
  }

  /** Lets texts be embedded with the weights that the server has now. Gives the models whose weights were others. */
  async acceptModel(params: CallOptions = {}): Promise<readonly AcceptedModel[]> {
    const reply = await this.#post<{ accepted: readonly AcceptedModel[] }>(
      "accept-model",
      undefined,
      known(params),
    );
    return reply.accepted;
  }

  /** Adds records; an id that exists already is left as it is. A large write is sent in several requests, in order. */
  add(params: WriteParams<RecordInput<M>>): Promise<void> {
    return this.#write("add", params);
  }

  /** Adds records or merges into those that exist. */
  upsert(params: WriteParams<RecordChange<M>>): Promise<void> {
    return this.#write("upsert", params);
  }

  /** Changes records; ids that do not exist are left out. */
  update(params: WriteParams<RecordChange<M>>): Promise<void> {
    return this.#write("update", params);
  }

  /** By ids, by a filter, or by both. Returns how many records existed. With a `limit` it is not repeated after 503: it would take others. */
  async delete(params: DeleteParams<M>): Promise<number> {
    const { limit } = requireKnown(params, DELETE, "params");
    const json = { ...selectorJson(params), limit };
    const repeatable = limit === undefined;
    return (await this.#post<{ deleted: number }>("delete", json, params, repeatable)).deleted;
  }

  /** Of all records, or of those that a `get` with the same selection finds. */
  async count(params: CountParams<M> = {}): Promise<number> {
    const json = countJson(params);
    const path = `${this.#path}/${this.id}/count`;
    const request =
      json === null ? ({ method: "GET", path } as const) : ({ method: "POST", path, json } as const);
    return this.#server.transport.send(request, params);
  }

  /** How often which values of metadata fields occur, exactly, in all records or in those of a selection. */
  async facets<const K extends readonly KeyInput<keyof M & string>[]>(
    params: FacetsParams<K, M>,
  ): Promise<{ readonly [P in KeyName<K[number]> & keyof M]: Facet<FacetValue<M[P]>> }> {
    return this.#post("facets", facetsJson(params), params);
  }

  /** By id and filter, in the order in which the records were made. */
  async get<
    const S extends readonly KeyInput<GetKey<M>>[] = readonly DefaultGetKey[],
    const H extends HighlightInput | undefined = undefined,
  >(
    params: GetParams<S, M> & { readonly highlight?: H } = {},
  ): Promise<readonly (Row<M, KeyName<S[number]>> & Highlighted<H>)[]> {
    const { json, names } = getReading(requireKnown(params, GET, "params"));
    return rowsOf(await this.#post<Columns>("get", json, params), names);
  }

  /** As `get`, for any number of records, read page by page. */
  records<const S extends readonly KeyInput<GetKey<M>>[] = readonly DefaultGetKey[]>(
    params: RecordsParams<S, M> = {},
  ): Pages<Row<M, KeyName<S[number]>>> {
    const { pageSize = RECORDS_PER_PAGE, ...get } = requireKnown(params, RECORDS, "params");
    return countedPages((page) => this.get<S>({ ...get, ...page }), pageSize);
  }

  /** The nearest records of each embedding. `search` takes texts, and more. */
  async query<const S extends readonly KeyInput<QueryKey<M>>[] = readonly DefaultQueryKey[]>(
    params: QueryParams<S, M>,
  ): Promise<readonly (readonly Row<M, KeyName<S[number]>>[])[]> {
    const { json, names } = queryReading(params);
    return splitRows(await this.#post<ColumnRows>("query", json, params), () => names);
  }

  /** Rows have the members that `select` names: without it document, metadata and score. */
  search<P extends AnySearch>(search: P): Promise<readonly SearchRow<M, P>[]>;
  search<
    const S extends readonly KeyInput<SearchKey<M>>[] = readonly DefaultSearchKey[],
    const H extends HighlightInput | undefined = undefined,
  >(
    params: SearchParams<S, M> & { readonly highlight?: H },
  ): Promise<readonly (Row<M, KeyName<S[number]>> & Highlighted<H>)[]>;
  async search(params: SearchParams<readonly KeyInput[], M> | AnySearch): Promise<readonly Row<M, string>[]> {
    const { json, names } = searchReading(params);
    const call = "toPayload" in params ? {} : params;
    const reply = await this.#post<ColumnRows>("search", { searches: [json] }, call);
    return splitRows(reply, () => names)[0] ?? [];
  }

  /**
   * A search with what says how it came about: the trace of each score, how records were found, and why those named
   * with `ids` are not among the rows.
   */
  explainSearch<P extends AnySearch>(search: P): Promise<ExplainedSearch<SearchRow<M, P>>>;
  explainSearch<
    const S extends readonly KeyInput<SearchKey<M>>[] = readonly DefaultSearchKey[],
    const H extends HighlightInput | undefined = undefined,
  >(
    params: ExplainParams<S, M> & { readonly highlight?: H },
  ): Promise<ExplainedSearch<Row<M, KeyName<S[number]>> & Highlighted<H>>>;
  async explainSearch(
    params: ExplainParams<readonly KeyInput[], M> | AnySearch,
  ): Promise<ExplainedSearch<object>> {
    const { json, names } = explainReading(params);
    const call = "toPayload" in params ? {} : params;
    const reply = await this.#post<ColumnRows & ExplainedReply>("search", { searches: [json] }, call);
    return explainedSearch(splitRows(reply, () => names)[0] ?? [], reply);
  }

  /** Several searches in one call, on one state of the collection. */
  async searchAll<const P extends Searches<M>>(
    params: SearchAllParams<P>,
  ): Promise<{ readonly [I in keyof P]: readonly SearchRow<M, P[I]>[] }> {
    const readings = searchReadings(requireKnown(params, SEARCH_ALL, "params").searches);
    const json = { searches: readings.map((reading) => reading.json) };
    const rows = splitRows(
      await this.#post<ColumnRows>("search", json, params),
      (i) => readings[i]?.names ?? [],
    );
    return rows as { readonly [I in keyof P]: readonly SearchRow<M, P[I]>[] };
  }

  /** What `searchAll` would refuse of these searches, and what they would do; nothing is embedded, and no record read. */
  async check(params: SearchAllParams<Searches<M>>): Promise<SearchCheck> {
    const readings = searchReadings(requireKnown(params, SEARCH_ALL, "params").searches);
    return this.#post("search/check", { searches: readings.map(({ json }) => json) }, params);
  }

  /** As `get`, with the token of the state that was read, to go on with it and to commit against it. */
  async conditionalGet<
    const S extends readonly KeyInput<GetKey<M>>[] = readonly DefaultGetKey[],
    const H extends HighlightInput | undefined = undefined,
  >(
    params: GetParams<S, M> & { readonly highlight?: H; readonly readToken?: number | undefined } = {},
  ): Promise<{
    readonly records: readonly (Row<M, KeyName<S[number]>> & Highlighted<H>)[];
    readonly readToken: number;
  }> {
    const { readToken, ...get } = requireKnown(params, { ...GET, readToken: true }, "params");
    const { json, names } = getReading(get);
    const body = { ...json, read_token: readToken };
    const reply = await this.#post<Columns & { read_token: number }>("conditional/get", body, params);
    return { records: rowsOf(reply, names), readToken: reply.read_token };
  }

  /** Writes all or nothing; a `ConflictError` where a record of `readIds` is not any more as it was read. */
  async conditionalCommit(params: CommitParams<M>): Promise<Committed> {
    const json = commitJson(params as CommitParams);
    const reply = await this.#post<CommitReply>("conditional/commit", json, params, false);
    return { firstInsertedRecordOffset: reply.first_inserted_record_offset, recordCount: reply.record_count };
  }

  async #write(kind: WriteKind, params: WriteParams<RecordChange<M>>): Promise<void> {
    const { records, batchSize, chunking, onProgress, ...call } = requireKnown(params, WRITE, "params");
    requireRecords(records, "params.records");
    requireBatchSize(batchSize);
    const limits = needsLimits(records) ? await this.#server.limits.get(call) : NO_LIMITS;
    const { length: total } = records;
    let written = 0;
    for (const batch of writeBatches(records, limits, batchSize)) {
      try {
        const columns = columnsOf(batch, limits.supportsBase64Encoding);
        await this.#post(kind, { ...columns, chunking }, call);
      } catch (error) {
        throw error instanceof SheafClientError ? inWholeWrite(error, written) : error;
      }
      written += batch.length;
      onProgress?.({ written, total });
    }
  }

  async #get<T>(route: string, params: CallOptions): Promise<T> {
    return this.#server.transport.send(
      { method: "GET", path: `${this.#path}/${this.id}/${route}` },
      known(params),
    );
  }

  #post<T>(route: string, json: object | undefined, options: CallOptions, repeatable = true): Promise<T> {
    const path = `${this.#path}/${this.id}/${route}`;
    return this.#server.transport.send({ method: "POST", path, json, repeatable }, options);
  }
}

interface CommitReply {
  readonly first_inserted_record_offset: number | null;
  readonly record_count: number;
}
