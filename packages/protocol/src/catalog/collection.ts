/** Bodies of the collection routes and the reply that describes a collection. */
import { invalid } from "../errors.ts";
import { exceedsBytes, membersOf, refuseMistaken, utf8Length } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import { writeLongMetadata } from "../json/json-writer-long.ts";
import type { Metadata, MetadataPatch, MetadataValue } from "../metadata.ts";
import { parseMetadata, parseMetadataPatch } from "../metadata-parser.ts";
import type { Collection, CreateCollection, JsonObject, UpdateCollection } from "./ast.ts";
import { BodyReader } from "./body-reader.ts";
import { parseConfiguration, parseConfigurationUpdate } from "./configuration.ts";
import { configurationOf, denseIndexOf, resolveDense, withDenseIndex } from "./dense-index.ts";
import { parseName } from "./name.ts";
import { toPlainJson, writePlainJson } from "./plain-json.ts";
import { completeSchema, parseSchema } from "./schema.ts";

export interface ForkBody {
  readonly newName: string;
}

const FUNCTION =
  'name it in `configuration`: {"embedding_function": {"type": "known", "name": "sheaf", "config": {"model": "..."}}}';
const MISTAKEN = { embedding_function: FUNCTION, model: FUNCTION };

/**
 * A collection as it is going to be described: `schema` and `configuration` are complete, and equal however the body
 * described it.
 *
 * @param at Tenant and database of the request.
 * @throws SheafError 400 for a name, metadata or description out of its rules, 422 for a wrong type.
 */
export function parseCreateCollection(
  body: unknown,
  at: { readonly tenant: string; readonly database: string },
): CreateCollection {
  const reader = new BodyReader(body, "");
  refuseMistaken(membersOf(body, ""), MISTAKEN);
  const name = parseName(reader.get("name"), "name");
  const metadata = parseCollectionMetadata(reader, "metadata", parseMetadata);
  const configuration = parseConfiguration(describing(reader, "configuration"), metadata);
  const schemaReader = describing(reader, "schema");
  const schema = completeSchema(schemaReader === null ? null : parseSchema(schemaReader), configuration);
  return Object.freeze({
    tenant: at.tenant,
    database: at.database,
    name,
    metadata,
    configuration: configurationOf(denseIndexOf(schema)),
    schema,
    getOrCreate: reader.boolean("get_or_create") ?? false,
  });
}

/**
 * The change that the body asks of `current`; empty where it asks for nothing. The space and the kind of the index
 * stay: parameters for the other kind are accepted and change nothing.
 *
 * @throws SheafError 400 for a name or metadata out of its rules, 422 for a wrong type or an unknown setting.
 */
export function parseUpdateCollection(body: unknown, current: Collection): UpdateCollection {
  const reader = new BodyReader(body, "");
  const name = reader.has("new_name") ? parseName(reader.get("new_name"), "new_name") : null;
  const patch = parseCollectionMetadata(reader, "new_metadata", parseMetadataPatch);
  return Object.freeze({
    ...(name === null ? {} : { name }),
    ...(patch === null ? {} : { metadata: withoutNulls(patch) }),
    ...parseDescriptionUpdate(describing(reader, "new_configuration"), current),
  });
}

function parseDescriptionUpdate(
  reader: BodyReader | null,
  current: Collection,
): { configuration?: JsonObject; schema?: JsonObject } {
  if (reader === null) return {};
  const update = parseConfigurationUpdate(reader);
  const dense = denseIndexOf(current.schema);
  const parameters = update[dense.kind];
  if (parameters === null && update.embeddingFunction === null) return {};
  const before = { hnsw: null, spann: null, [dense.kind]: dense.parameters };
  const after = { ...update, hnsw: null, spann: null, [dense.kind]: parameters };
  const changed = resolveDense([{ ...dense, ...before }, after]);
  return { configuration: configurationOf(changed), schema: withDenseIndex(current.schema, changed) };
}

/** @throws SheafError 400 for a bad name, 422 for a wrong type. */
export function parseForkBody(body: unknown): ForkBody {
  return Object.freeze({ newName: parseName(new BodyReader(body, "").get("new_name"), "new_name") });
}

/** `null`: the body has none. */
function parseCollectionMetadata<M extends MetadataPatch>(
  reader: BodyReader,
  key: string,
  parse: (value: unknown, path: string) => M,
): M | null {
  const value = reader.get(key);
  if (value === undefined) return null;
  const metadata = parse(value, key);
  if (metadata.size === 0) throw invalid(key, "Metadata cannot be empty");
  requireShort(metadata, key);
  return metadata;
}

/** The lists of a database hold the metadata of all its collections. Written in pieces, of which the first too many is the last. */
function requireShort(patch: MetadataPatch, key: string): void {
  const limit = LIMITS.collectionMetadataBytes;
  const metadata = withoutNulls(patch);
  if (metadata === null) return;
  let bytes = 0;
  for (const piece of writeLongMetadata(metadata, () => true)) {
    bytes += utf8Length(piece);
    if (bytes > limit) throw invalid(key, `is over ${limit} bytes`);
  }
}

/** The new metadata replaces the old one whole, so a key that is `null` is a key that is not there. */
function withoutNulls(patch: MetadataPatch): Metadata | null {
  const kept = [...patch].filter((entry): entry is [string, MetadataValue] => entry[1] !== null);
  return kept.length === 0 ? null : new Map(kept);
}

/** A description, which is kept as long as the collection and therefore bounded. */
function describing(reader: BodyReader, key: string): BodyReader | null {
  const described = reader.object(key);
  if (described === null) return null;
  const text = JSON.stringify(toPlainJson(reader.get(key), key));
  if (exceedsBytes(text, LIMITS.configurationBytes)) {
    throw invalid(key, `is over ${LIMITS.configurationBytes} bytes`);
  }
  return described;
}

/**
 * The JSON of a collection, in the order of members that clients have always seen, in pieces: collections of before
 * `collectionMetadataBytes` may hold far more metadata.
 */
export function* writeCollection(collection: Collection): Generator<string> {
  const head = { id: collection.id, name: collection.name };
  const described = { configuration_json: collection.configuration, schema: collection.schema };
  const tail = {
    dimension: collection.dimension,
    tenant: collection.tenant,
    database: collection.database,
    log_position: collection.logPosition,
    version: collection.version,
  };
  const members = (part: JsonObject): string => writePlainJson(part).slice(1, -1);
  yield `{${members(head)},${members(described)},"metadata":`;
  yield* writeLongMetadata(collection.metadata, () => true);
  yield `,${members(tail)}}`;
}
