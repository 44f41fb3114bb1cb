/** Records of JSON lines, checked one by one as the server would, and the body that writes several of them. */
import {
  type Metadata,
  type MetadataPatch,
  SheafError,
  type WriteRecord,
  fromDocumentText,
  parentOf,
  parseWriteRequest,
  readJsonWithVectors,
  writeDense,
  writeMetadata,
} from "@sheaf/protocol";

export interface ReadLine {
  /** From 1 on. */
  readonly number: number;
  readonly record: WriteRecord;
}

const MEMBERS = ["id", "embedding", "document", "uri", "metadata"];

/** Throws a `SheafError` that says what is wrong with the line. Integers and floats stay what they are. */
export function parseLine(line: Uint8Array): WriteRecord {
  const value = readJsonWithVectors(line);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new SheafError("invalid_argument", "the line must be an object");
  const fields = value as Readonly<Record<string, unknown>>;
  const stranger = Object.keys(fields).find((name) => !MEMBERS.includes(name));
  if (stranger !== undefined)
    throw new SheafError("invalid_argument", `${stranger}: is unknown, expected ${MEMBERS.join(", ")}`);
  return parseRecord(fields);
}

/** Of the members of a line, read from JSON. Throws a `SheafError` that says what is wrong. */
export function parseRecord(fields: Readonly<Record<string, unknown>>): WriteRecord {
  const column = (name: string): readonly unknown[] | null => {
    const one = fields[name];
    return one === undefined || one === null ? null : [one];
  };
  const columns = {
    ids: column("id"),
    embeddings: column("embedding"),
    documents: column("document"),
    uris: column("uri"),
    metadatas: column("metadata"),
  };
  const [record] = parseWriteRequest("upsert", columns).records;
  if (record === undefined) throw new SheafError("invalid_argument", "id: is required");
  return record;
}

/** Whether a record is stored as it is even where documents are cut: it has its vector, or is a chunk already. */
export function isWhole({ id, embedding, metadata }: WriteRecord): boolean {
  return embedding !== null || parentOf(id, metadata) !== null;
}

/** As JSON. */
export function upsertBody(lines: readonly ReadLine[], chunking?: { readonly by: "none" }): string {
  const column = (name: string, write: (record: WriteRecord) => string | null): string => {
    const texts = lines.map(({ record }) => write(record));
    return texts.every((text) => text === null)
      ? ""
      : `,"${name}":[${texts.map((text) => text ?? "null").join(",")}]`;
  };
  const ids = JSON.stringify(lines.map(({ record }) => record.id));
  return (
    `{"ids":${ids}` +
    column("embeddings", ({ embedding }) =>
      embedding === null ? null : writeDense([embedding]).slice(1, -1),
    ) +
    column("documents", ({ document }) =>
      document === null ? null : JSON.stringify(fromDocumentText(document)),
    ) +
    column("uris", ({ uri }) => (uri === null ? null : JSON.stringify(uri))) +
    column("metadatas", ({ metadata }) =>
      metadata === null ? null : writeMetadata(withoutNulls(metadata)),
    ) +
    (chunking === undefined ? "" : `,"chunking":${JSON.stringify(chunking)}`) +
    "}"
  );
}

/** In an upsert a `null` says that there is nothing under the key. */
function withoutNulls(metadata: MetadataPatch): Metadata {
  return new Map([...metadata].flatMap(([key, value]) => (value === null ? [] : [[key, value] as const])));
}
