/** A Qdrant point as a record: payload becomes metadata, sparse vectors become metadata, one dense vector the embedding. */
import { JsonFloat } from "@sheaf/protocol";
import type { QdrantPoint } from "./qdrant-source.ts";

export interface PointChoice {
  /** Name of the dense vector; "" for the one without a name. */
  readonly vector: string;
  readonly sparse: readonly string[];
  /** Key of the payload that holds the text. */
  readonly documentKey: string;
}

export interface PointRecord {
  readonly id: string;
  readonly embedding: readonly number[];
  readonly document: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/** As `readJsonWithVectors` gives them. */
type JsonNumber = number | bigint | JsonFloat;
type Scalar = string | JsonNumber | boolean;

/** `null` where the point lacks the vector; a text says why it cannot be a record. */
export function pointRecord(point: QdrantPoint, choice: PointChoice): PointRecord | string | null {
  const vectors = namedVectors(point.vector);
  const dense = vectors[choice.vector];
  if (dense === undefined || dense === null) return null;
  const embedding = numbersOf(dense);
  if (embedding === null) return `${choice.vector}: is no list of numbers`;
  const { [choice.documentKey]: text, ...rest } = point.payload ?? {};
  const isDocument = typeof text === "string";
  const metadata = new Map<string, unknown>();
  const payload = isDocument ? rest : (point.payload ?? {});
  const taken = flatten(payload, "", metadata) ?? addSparse(vectors, choice.sparse, metadata);
  if (taken !== null) return `${taken}: is there twice, where members of objects are joined by dots`;
  return {
    id: String(point.id),
    embedding,
    document: isDocument ? text : null,
    metadata: metadata.size === 0 ? null : Object.fromEntries(metadata),
  };
}

function namedVectors(vector: unknown): Readonly<Record<string, unknown>> {
  if (Array.isArray(vector)) return { "": vector };
  return typeof vector === "object" && vector !== null ? (vector as Readonly<Record<string, unknown>>) : {};
}

/** Gives the key that two members would have. */
function flatten(value: object, prefix: string, into: Map<string, unknown>): string | null {
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const key = prefix + name;
    let taken: string | null = null;
    if (isObject(member)) taken = flatten(member, `${key}.`, into);
    else if (member !== null) taken = put(key, Array.isArray(member) ? listValue(member) : member, into);
    if (taken !== null) return taken;
  }
  return null;
}

function put(key: string, value: unknown, into: Map<string, unknown>): string | null {
  if (into.has(key)) return key;
  into.set(key, value);
  return null;
}

/** A list of one kind of scalars stays one; any other becomes its JSON text. */
function listValue(list: readonly unknown[]): unknown {
  if (list.every(isNumber)) return list;
  const [first] = list;
  return isScalar(first) && list.every((one) => typeof one === typeof first) ? list : jsonOf(list);
}

function addSparse(
  vectors: Readonly<Record<string, unknown>>,
  names: readonly string[],
  into: Map<string, unknown>,
): string | null {
  for (const name of names) {
    const vector = vectors[name] as { readonly indices: unknown; readonly values: unknown } | undefined;
    if (vector === undefined || vector === null) continue;
    const [numbers, values] = [numbersOf(vector.indices) ?? [], numbersOf(vector.values) ?? []];
    const sorted = numbers.map((index, i) => [index, values[i]] as const).toSorted(([a], [b]) => a - b);
    const indices = sorted.map(([index]) => index);
    const taken = put(
      name,
      { "#type": "sparse_vector", indices, values: sorted.map(([, value]) => value) },
      into,
    );
    if (taken !== null) return taken;
  }
  return null;
}

function isObject(value: unknown): value is object {
  const isOther = Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof JsonFloat;
  return typeof value === "object" && value !== null && !isOther;
}

function isNumber(value: unknown): value is JsonNumber {
  return typeof value === "number" || typeof value === "bigint" || value instanceof JsonFloat;
}

/** Long lists are typed arrays. `null`: it is no list of numbers. */
function numbersOf(list: unknown): readonly number[] | null {
  if (ArrayBuffer.isView(list)) return Array.from(list as unknown as Iterable<number | bigint>, Number);
  if (!Array.isArray(list) || !list.every(isNumber)) return null;
  return list.map((one) => (one instanceof JsonFloat ? one.value : Number(one)));
}

function isScalar(value: unknown): value is Scalar {
  return isNumber(value) || typeof value === "string" || typeof value === "boolean";
}

/** With all digits of whole numbers. */
function jsonOf(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (ArrayBuffer.isView(value)) return jsonOf(Array.from(value as unknown as Iterable<unknown>));
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(",")}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
