/** One collection of a server: record writes, reads and search. Made by `SheafClient`. */
import { type MembersOf, requireArray, requireKnown } from "./require-known.ts";
import { GroupBy, type GroupByInput } from "./search/group-by.ts";
import { RankExpression, type RankInput } from "./search/rank.ts";
import type { WhereInput } from "./search/where.ts";
import type { RequestOptions, Transport } from "./transport.ts";

export type MetadataJson = Readonly<
  Record<string, string | number | boolean | readonly (string | number | boolean)[] | object | null>
>;

export interface RecordInput {
  readonly id: string;
  /** Left out, the server embeds `document` with the collection's model. */
  readonly embedding?: readonly number[];
  readonly document?: string;
  readonly uri?: string;
  readonly metadata?: MetadataJson;
}

export interface SearchParams {
  readonly where?: WhereInput;
  readonly rank?: RankInput;
  readonly groupBy?: GroupByInput;
  readonly limit?: number;
  readonly offset?: number;
  /** `#document`, `#embedding`, `#metadata`, `#score` or names of metadata fields. */
  readonly select?: readonly string[];
}

/** By ids, by a filter, or by both. */
export interface DeleteSelector {
  readonly ids?: readonly string[];
  readonly where?: WhereInput;
}

export interface Hit {
  readonly id: string;
  readonly document: string | null;
  readonly embedding: readonly number[] | null;
  readonly metadata: MetadataJson | null;
  /** Lower is better; `null` if `#score` was not selected. */
  readonly score: number | null;
}

export interface CollectionInfo {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
  readonly dimension: number | null;
  readonly metadata: MetadataJson | null;
}

const RECORD: MembersOf<RecordInput> = {
  id: true,
  embedding: true,
  document: true,
  uri: true,
  metadata: true,
};
const SEARCH: MembersOf<SearchParams> = {
  where: true,
  rank: true,
  groupBy: true,
  limit: true,
  offset: true,
  select: true,
};
const DELETE: MembersOf<DeleteSelector> = { ids: true, where: true };

interface SearchReply {
  readonly ids: readonly (readonly string[])[];
  readonly documents: readonly (readonly (string | null)[] | null)[];
  readonly embeddings: readonly (readonly (readonly number[] | null)[] | null)[];
  readonly metadatas: readonly (readonly (MetadataJson | null)[] | null)[];
  readonly scores: readonly (readonly (number | null)[] | null)[];
}

export class Collection {
  readonly info: CollectionInfo;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, info: CollectionInfo) {
    this.info = info;
    this.#transport = transport;
    const { tenant, database, id } = info;
    this.#path = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections/${id}`;
  }

  /** Adds records; an id that exists already is left as it is. */
  async add(records: readonly RecordInput[], options?: RequestOptions): Promise<void> {
    await this.#transport.post(`${this.#path}/add`, columns(records), options);
  }

  /** Adds records or merges into those that exist. */
  async upsert(records: readonly RecordInput[], options?: RequestOptions): Promise<void> {
    await this.#transport.post(`${this.#path}/upsert`, columns(records), options);
  }

  async update(records: readonly RecordInput[], options?: RequestOptions): Promise<void> {
    await this.#transport.post(`${this.#path}/update`, columns(records), options);
  }

  /** Returns how many records existed. */
  async delete(selector: DeleteSelector, options?: RequestOptions): Promise<number> {
    const body = requireKnown(selector, DELETE, "selector");
    const reply = await this.#transport.post<{ deleted: number }>(`${this.#path}/delete`, body, options);
    return reply.deleted;
  }

  async count(options?: RequestOptions): Promise<number> {
    return this.#transport.get<number>(`${this.#path}/count`, options);
  }

  /** One search; `searchAll` sends several in one call. */
  async search(params: SearchParams, options?: RequestOptions): Promise<readonly Hit[]> {
    const [hits = []] = await this.searchAll([requireKnown(params, SEARCH, "params")], options);
    return hits;
  }

  async searchAll(
    searches: readonly SearchParams[],
    options?: RequestOptions,
  ): Promise<readonly (readonly Hit[])[]> {
    const body = {
      searches: requireArray(searches, "searches").map((search, i) => searchJson(search, `searches[${i}]`)),
    };
    const reply = await this.#transport.post<SearchReply>(`${this.#path}/search`, body, options);
    return reply.ids.map((ids, search) =>
      ids.map((id, row) => ({
        id,
        document: reply.documents[search]?.[row] ?? null,
        embedding: reply.embeddings[search]?.[row] ?? null,
        metadata: reply.metadatas[search]?.[row] ?? null,
        score: reply.scores[search]?.[row] ?? null,
      })),
    );
  }
}

function searchJson(search: SearchParams, path: string): object {
  const { where, rank, groupBy, limit, offset = 0, select } = requireKnown(search, SEARCH, path);
  return {
    ...(where === undefined ? {} : { where }),
    ...(rank === undefined ? {} : { rank: RankExpression.jsonFor(rank, offset + (limit ?? 0)) }),
    ...(groupBy === undefined ? {} : { group_by: GroupBy.from(groupBy) }),
    limit: { offset, ...(limit === undefined ? {} : { limit }) },
    select: { keys: select ?? ["#document", "#metadata", "#score"] },
  };
}

/** The wire is column-major; a column that no record fills is left out. */
function columns(records: readonly RecordInput[]): object {
  for (const [i, record] of requireArray(records, "records").entries())
    requireKnown(record, RECORD, `records[${i}]`);
  const column = <T>(pick: (record: RecordInput) => T | undefined): (T | null)[] | undefined =>
    records.some((record) => pick(record) !== undefined)
      ? records.map((record) => pick(record) ?? null)
      : undefined;
  return {
    ids: records.map(({ id }) => id),
    embeddings: column((record) => record.embedding),
    documents: column((record) => record.document),
    uris: column((record) => record.uri),
    metadatas: column((record) => record.metadata),
  };
}
