/** The rules of bodies that a JSON Schema cannot state, as changes that make a value keep them. */
import { READ_TOKEN } from "./accepted-bodies.ts";
import type { Adjustments } from "./schema-arbitrary.ts";

type Body = Readonly<Record<string, unknown>>;

export const ADJUSTMENTS: Adjustments = {
  // The pattern of a name leaves `..` and IPv4 addresses to the description; most of what it makes is neither.
  Name: (name: string) => `n${name.replaceAll(/\.{2,}/gu, "--")}`,
  TenantName: (name: string) => `tenant ${name.trim()}`,
  SparseVector: ({ indices, values, ...rest }: Body & { indices: number[]; values: number[] }) => {
    const ascending = [...new Set(indices)].sort((one, other) => one - other);
    return {
      ...without(rest, "tokens"),
      indices: ascending,
      values: ascending.map((_, i) => values[i] ?? 1),
    };
  },
  Embedding: (embedding: number[] | string) =>
    typeof embedding === "string" ? Buffer.alloc(12, 1).toString("base64") : [1, 2, embedding[0] ?? 3],
  WhereValues: (values: readonly unknown[]) =>
    Number.isInteger(values[0]) ? values.map((value) => Math.trunc(Number(value))) : values,
  Chunking: (chunking: Body) =>
    present(chunking["size"]) && present(chunking["overlap"])
      ? {
          ...chunking,
          overlap: Math.min(Number(chunking["overlap"]), Math.floor(Number(chunking["size"]) / 2)),
        }
      : without(chunking, "overlap"),
  AddBody: withEqualColumns,
  ChangeBody: withEqualColumns,
  DeleteBody: (body: Body) => {
    const filtered = present(body["where"]) || present(body["where_document"]);
    const kept = filtered ? body : without(body, "limit");
    return Array.isArray(kept["ids"]) && kept["ids"].length === 0 ? without(kept, "ids") : kept;
  },
  ReadBody: (body: Body) => ({ ...body, read_token: READ_TOKEN }),
  CommitBody: (body: Body & { operations: Operation[] }) => ({
    ...body,
    read_token: READ_TOKEN,
    operations: body.operations.map(deleteByIds),
  }),
  Search: (search: Body) => {
    const ranked = present(search["rank"]) ? without(search, "order_by") : without(search, "group_by", "mmr");
    return present(ranked["where"]) ? without(ranked, "filter") : ranked;
  },
  EmbedBody: (body: Body) =>
    without(
      present(body["task"]) && present(body["target"]) ? body : { ...body, instructions: "" },
      "fetch_tokens",
    ),
  // A backup that adds to itself.
  BackupBody: (body: Body) => (body["incremental"] === body["name"] ? without(body, "incremental") : body),
  KeyBody: (body: Body) => (present(body["tenant"]) ? body : without(body, "database")),
  Configuration: ofOneKind,
  ConfigurationUpdate: ofOneKind,
  VectorIndex: (config: Body) => ofOneKind(without(config, "source_key")),
  SparseIndex: (config: Body) => without(config, "source_key"),
  ValueTypes: (valueTypes: Body) =>
    Object.fromEntries(Object.entries(valueTypes).map(([name, indexes]) => [name, disabled(indexes)])),
  Schema: (schema: Body) => {
    const { keys } = schema;
    const reserved = Object.keys(typeof keys === "object" && keys !== null ? keys : {}).filter((key) =>
      key.startsWith("#"),
    );
    return {
      // Only beside a function that the server has.
      ...without(schema, "key_overrides", "chunking"),
      ...(present(keys) ? { keys: without(keys as Body, ...reserved) } : {}),
    };
  },
  CollectionBody: (body: Body) => (present(body["schema"]) ? without(body, "configuration") : body),
  CollectionMetadata: neverEmpty,
  CollectionMetadataPatch: neverEmpty,
};

interface Operation {
  readonly operation: string;
  readonly payload: Body;
}

function deleteByIds({ operation, payload }: Operation): Operation {
  return {
    operation,
    payload: operation === "delete" ? without(payload, "where", "where_document", "limit") : payload,
  };
}

function neverEmpty(metadata: Body): Body {
  return { ...metadata, title: "never empty" };
}

function present(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function without(members: Body, ...names: readonly string[]): Body {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

function ofOneKind(body: Body): Body {
  return present(body["hnsw"]) ? without(body, "spann") : body;
}

/** Which index may be on depends on the key. */
function disabled(indexes: unknown): unknown {
  if (typeof indexes !== "object" || indexes === null) return indexes;
  return Object.fromEntries(
    Object.entries(indexes as Readonly<Record<string, object | null>>).map(([name, index]) => [
      name,
      index === null ? null : { ...index, enabled: false },
    ]),
  );
}

function withEqualColumns({ ids, ...columns }: Body & { ids: string[] }): Body {
  const equal = Object.entries(columns).map(([name, column]) => [
    name,
    Array.isArray(column) ? ids.map((_, i) => (column as unknown[])[i] ?? null) : column,
  ]);
  return { ids, ...Object.fromEntries(equal) } as Body;
}
