/** Rows of answers: out of columns, with the members that `select` names. */
import { Select } from "../search/select.ts";
import type { KeyInput } from "../search/key.ts";
import type { Highlight, Snippet } from "./highlight.ts";
import { type Metadata, type SparseVector, isSparseVector } from "./metadata.ts";

interface BuiltIn {
  readonly "#document": { readonly document: string | null };
  readonly "#embedding": { readonly embedding: readonly number[] | null };
  readonly "#uri": { readonly uri: string | null };
  /** Lower is better; not a number where the server's is not finite. */
  readonly "#score": { readonly score: number };
  readonly "#distance": { readonly distance: number };
}

/** Fields of the metadata among keys of a `select`. */
type Field<N extends string> = Exclude<N, `#${string}`>;
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (member: infer I) => void
  ? I
  : never;
type Simple<T> = { readonly [K in keyof T]: T[K] };

/** Sparse vectors come only where their key is named. */
type AllFields<M, N> = {
  readonly [K in keyof M as NonNullable<M[K]> extends SparseVector ? (K extends N ? K : never) : K]: M[K];
};
type SomeFields<M, N> = string extends keyof M
  ? { readonly [K in N & keyof M]?: M[K] }
  : { readonly [K in keyof M as K extends N ? K : never]: M[K] };

type MetadataPart<M, N extends string> = "#metadata" extends N
  ? { readonly metadata: AllFields<M, N> | null }
  : [Field<N>] extends [never]
    ? unknown
    : { readonly metadata: SomeFields<M, Field<N>> | null };

type AnyRow<M> = { readonly id: string; readonly metadata?: Partial<M> | null } & Partial<
  Intersection<BuiltIn[keyof BuiltIn]>
>;

/**
 * A record of an answer: its id, and what was selected.
 *
 * @typeParam M Metadata of the collection.
 * @typeParam N Keys that were selected. Where they are not known to the compiler, every member is optional.
 */
export type Row<M, N extends string> = string extends N
  ? Simple<AnyRow<M>>
  : Simple<{ readonly id: string } & Intersection<BuiltIn[N & keyof BuiltIn]> & MetadataPart<M, N>>;

/** Keys of records: built in, or a field of the metadata. */
type RecordKey<M> = "#id" | "#document" | "#embedding" | "#metadata" | (keyof M & string);
export type SearchKey<M> = RecordKey<M> | "#score";
export type GetKey<M> = RecordKey<M> | "#uri";
export type QueryKey<M> = GetKey<M> | "#distance";

/** What is selected unless a call says otherwise. Vectors are not. */
export const SEARCH_KEYS = ["#document", "#metadata", "#score"] as const;
export const GET_KEYS = ["#document", "#metadata"] as const;
export const QUERY_KEYS = ["#document", "#metadata", "#distance"] as const;
export type DefaultSearchKey = (typeof SEARCH_KEYS)[number];
export type DefaultGetKey = (typeof GET_KEYS)[number];
export type DefaultQueryKey = (typeof QUERY_KEYS)[number];

/** Columns of one answer; `null` for those that were not asked for. */
export interface Columns {
  readonly ids: readonly string[];
  readonly documents?: readonly (string | null)[] | null;
  readonly embeddings?: readonly (readonly number[] | null)[] | null;
  readonly metadatas?: readonly (Metadata | null)[] | null;
  readonly uris?: readonly (string | null)[] | null;
  readonly scores?: readonly (number | null)[] | null;
  readonly distances?: readonly (number | null)[] | null;
  /** Left out, and `null` in an answer to several searches, where they were not asked for. */
  readonly highlights?: readonly (readonly Highlight[] | null)[] | null;
  readonly snippets?: readonly (Snippet | null)[] | null;
}

export function namesOf(select: Iterable<KeyInput>): readonly string[] {
  return Select.from(select).values;
}

/** Rows of the type that the caller knows them to be, from what it selected. */
export function rowsOf(columns: Columns, names: readonly string[]): readonly never[] {
  const { ids, documents, embeddings, metadatas, uris, scores, distances, highlights, snippets } = columns;
  const chosen = new Set(names);
  const fields = names.filter((name) => !name.startsWith("#"));
  const hasAll = chosen.has("#metadata");
  return ids.map((id, i) => ({
    id,
    ...(chosen.has("#document") ? { document: documents?.[i] ?? null } : {}),
    ...(chosen.has("#embedding") ? { embedding: embeddings?.[i] ?? null } : {}),
    ...(chosen.has("#uri") ? { uri: uris?.[i] ?? null } : {}),
    ...(chosen.has("#score") ? { score: scores?.[i] ?? Number.NaN } : {}),
    ...(chosen.has("#distance") ? { distance: distances?.[i] ?? Number.NaN } : {}),
    ...(hasAll || fields.length > 0
      ? { metadata: fieldsOf(metadatas?.[i], hasAll ? null : chosen, chosen) }
      : {}),
    ...(highlights ? { highlights: highlights[i] ?? null } : {}),
    ...(snippets ? { snippet: snippets[i] ?? null } : {}),
  })) as readonly unknown[] as readonly never[];
}

/** Columns with one row for each search or embedding. */
export type ColumnRows = {
  readonly [K in Exclude<keyof Columns, "ids">]: readonly (Columns[K] | null)[] | null;
} & { readonly ids: readonly (readonly string[])[] };

export function splitRows(
  reply: ColumnRows,
  namesOf: (i: number) => readonly string[],
): readonly (readonly never[])[] {
  const { documents, embeddings, metadatas, uris, scores, distances, highlights, snippets } = reply;
  return reply.ids.map((ids, i) => {
    const columns: Columns = {
      ids,
      documents: documents?.[i] ?? null,
      embeddings: embeddings?.[i] ?? null,
      metadatas: metadatas?.[i] ?? null,
      uris: uris?.[i] ?? null,
      scores: scores?.[i] ?? null,
      distances: distances?.[i] ?? null,
      highlights: highlights?.[i] ?? null,
      snippets: snippets?.[i] ?? null,
    };
    return rowsOf(columns, namesOf(i));
  });
}

/** @param only The fields to keep; `null` for all. */
function fieldsOf(
  metadata: Metadata | null | undefined,
  only: ReadonlySet<string> | null,
  named: ReadonlySet<string>,
): Metadata | null {
  const entries = Object.entries(metadata ?? {}).filter(
    ([key, value]) => (only === null || only.has(key)) && (named.has(key) || !isSparseVector(value)),
  );
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

const INCLUDES: Readonly<Record<string, string>> = {
  "#document": "documents",
  "#embedding": "embeddings",
  "#metadata": "metadatas",
  "#uri": "uris",
  "#distance": "distances",
};

/** The columns that reads by id, filter and vector are asked for. */
export function includeOf(names: readonly string[], known: readonly string[]): readonly string[] {
  const columns = names.map((name) => {
    if (name === "#id") return "";
    if (!name.startsWith("#")) return "metadatas";
    const column = known.includes(name) ? INCLUDES[name] : undefined;
    if (column === undefined)
      throw new TypeError(`params.select: unknown key ${name}; known: ${known.join(", ")}`);
    return column;
  });
  return [...new Set(columns)].filter((column) => column !== "");
}
