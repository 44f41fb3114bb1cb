/**
 * Whether two answers to one step say the same. Numbers are compared with their kind, columns in their order. Records at
 * the same distance may come in any order, and any of them may be the last of a page. What else counts as equal stands
 * in decided-deviations.ts.
 */
import { JsonFloat } from "@sheaf/protocol";
import { type Answer, errorName } from "./contestant.ts";
import { TOLERATED } from "./decided-deviations.ts";
import type { Step } from "./step.ts";

type Members = Readonly<Record<string, unknown>>;

/** Members of a collection that mean nothing outside its server. */
const OWN = new Set(["id", "version", "log_position", "database"]);

/** What differs, in a line; `null`: nothing. */
export function difference(step: Step, theirs: Answer, ours: Answer): string | null {
  if (theirs.status !== ours.status) return `status ${theirs.status} and ${ours.status}`;
  if (theirs.status >= 300) {
    const [one, other] = [errorName(theirs), errorName(ours)];
    return one === other ? null : `error ${one} and ${other}`;
  }
  if (step.verb === "query") return differentRows(theirs.body as Members, ours.body as Members);
  const learned = { ...theirs, body: withoutLearned(theirs.body, ours.body) };
  const [one, other] = [learned, ours].map(({ body }) => JSON.stringify(comparable(step, body)));
  return one === other ? null : `${one}\n     and ${other}`;
}

function comparable({ verb }: Step, body: unknown): unknown {
  if (verb === "create" || verb === "show") return canonical(withoutOwn(body));
  if (verb === "list") {
    const collections = (body as Members[]).map(withoutOwn);
    return collections.toSorted((a, b) => String(a["name"]).localeCompare(String(b["name"]))).map(canonical);
  }
  if (verb !== "get") return canonical(body);
  const { embeddings, metadatas, ...others } = body as Members;
  return {
    ...(canonical(others) as Members),
    embeddings: numbers(embeddings),
    metadatas: canonical(Array.isArray(metadatas) ? metadatas.map(orNothing) : metadatas),
  };
}

function withoutOwn(body: unknown): Members {
  return Object.fromEntries(Object.entries(body as Members).filter(([name]) => !OWN.has(name)));
}

interface Described extends Members {
  readonly name: string;
  readonly schema: { readonly keys: Readonly<Record<string, Members>> };
}

/** `TOLERATED.learnedKeys`: their collections without the keys, and the kinds of value under them, that ours lack. */
function withoutLearned(theirs: unknown, ours: unknown): unknown {
  if (Array.isArray(theirs) && Array.isArray(ours)) {
    return theirs.map((collection: Described) =>
      withoutLearned(
        collection,
        ours.find(({ name }: Described) => name === collection.name),
      ),
    );
  }
  if (!isDescribed(theirs) || !isDescribed(ours)) return theirs;
  const listed = ours.schema.keys;
  const keys = Object.entries(theirs.schema.keys).flatMap(([key, kinds]): [string, Members][] => {
    const known = Object.entries(kinds).filter(([kind]) => listed[key]?.[kind] !== undefined);
    return known.length === 0 ? [] : [[key, Object.fromEntries(known)]];
  });
  return { ...theirs, schema: { ...theirs.schema, keys: Object.fromEntries(keys) } };
}

function isDescribed(body: unknown): body is Described {
  return typeof body === "object" && body !== null && "schema" in body;
}

/** Numbers with their kind, members by name. The number of threads is the machine's. */
function canonical(value: unknown): unknown {
  if (value instanceof JsonFloat) return `float ${value.value}`;
  if (typeof value === "bigint") return `integer ${value}`;
  if (typeof value === "number") return `${Number.isInteger(value) ? "integer" : "float"} ${value}`;
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value as Members).filter(([name]) => name !== "num_threads");
  return Object.fromEntries(
    members.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, canonical(member)]),
  );
}

/** Vectors, whose numbers have no kind and not all their digits. */
function numbers(value: unknown): unknown {
  if (value instanceof JsonFloat) return rounded(value.value);
  if (typeof value === "number") return rounded(value);
  return Array.isArray(value) ? value.map(numbers) : value;
}

function rounded(value: number): number {
  return Math.round(value / TOLERATED.arithmetic.value) * TOLERATED.arithmetic.value;
}

interface Row {
  readonly id: string;
  readonly distance: number;
  readonly rest: string;
}

function differentRows(theirs: Members, ours: Members): string | null {
  const [one, other] = [rowsOf(theirs), rowsOf(ours)];
  if (one.length !== other.length) return `${one.length} and ${other.length} queries`;
  for (const [query, rows] of one.entries()) {
    const problem = differentRow(rows, other[query] ?? []);
    if (problem !== null) return `query ${query}: ${problem}`;
  }
  return null;
}

function differentRow(one: readonly Row[], other: readonly Row[]): string | null {
  const shown = `${JSON.stringify(one)}\n     and ${JSON.stringify(other)}`;
  if (one.length !== other.length) return shown;
  const last = one.at(-1)?.distance ?? 0;
  for (const [place, row] of one.entries()) {
    if (!near(row.distance, other[place]?.distance ?? Number.NaN)) return shown;
    const same = other.find(({ id }) => id === row.id);
    // Of those as near as the last one a server may have chosen others.
    if (same === undefined ? !near(row.distance, last) : !near(row.distance, same.distance)) return shown;
    if (same !== undefined && same.rest !== row.rest) return shown;
  }
  return null;
}

/** `TOLERATED.emptyMetadata` */
function orNothing(metadata: unknown): unknown {
  return Object.keys(metadata ?? {}).length === 0 ? null : metadata;
}

function toNumber(value: unknown): number {
  return value instanceof JsonFloat ? value.value : Number(value ?? Number.NaN);
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERATED.arithmetic.value * Math.max(1, Math.abs(a), Math.abs(b));
}

function rowsOf(body: Members): readonly (readonly Row[])[] {
  const column = (name: string): readonly (readonly unknown[])[] | null =>
    (body[name] as readonly (readonly unknown[])[] | null) ?? null;
  const [distances, embeddings] = [column("distances"), column("embeddings")];
  const others = ["documents", "uris"].map(column);
  const metadatas = column("metadatas");
  return (column("ids") ?? []).map((ids, query) =>
    ids.map((id, place) => ({
      id: String(id),
      distance: toNumber(distances?.[query]?.[place]),
      rest: JSON.stringify([
        canonical(others.map((values) => values?.[query]?.[place] ?? null)),
        canonical(orNothing(metadatas?.[query]?.[place])),
        numbers(embeddings?.[query]?.[place] ?? null),
      ]),
    })),
  );
}
