/** Rows of a table as JSON lines of records: `id`, `document`, `embedding`, `uri`, and the other columns as metadata. */

/** Which columns hold what. A column that is not there is an error only where it was named. */
export interface TableColumns {
  readonly id?: string | undefined;
  readonly document?: string | undefined;
  readonly embedding?: string | undefined;
}

export interface TableShape {
  /** Top-level columns. */
  readonly names: readonly string[];
  /** Paths, joined by dots, of columns and members whose numbers are floats, whole or not. */
  readonly floats: ReadonlySet<string>;
}

interface Roles {
  readonly id: string;
  readonly document: string | null;
  readonly embedding: string | null;
}

/** @throws Error that names the columns there are. */
export function rolesOf({ names }: TableShape, { id, document, embedding }: TableColumns): Roles {
  const find = (given: string | undefined, usual: string): string | null => {
    if (names.includes(given ?? usual)) return given ?? usual;
    if (given === undefined) return null;
    throw new Error(`has no column ${given}; there are ${names.join(", ")}`);
  };
  const found = find(id, "id");
  if (found === null) throw new Error(`has no column id; --id-column names one of ${names.join(", ")}`);
  return { id: found, document: find(document, "document"), embedding: find(embedding, "embedding") };
}

/** A line of JSON. Whole numbers of integer columns stay whole, those of float columns have a point. */
export function recordLine(row: Readonly<Record<string, unknown>>, roles: Roles, shape: TableShape): string {
  const metadata: string[] = [];
  const members = [`"id":${idOf(row[roles.id])}`];
  for (const name of shape.names) {
    const value = row[name];
    if (name === roles.id || value === null || value === undefined) continue;
    if (name === roles.document) members.push(`"document":${jsonOf(value, false)}`);
    else if (name === roles.embedding) members.push(`"embedding":${jsonOf(value, true)}`);
    else addMetadata(name, value, { shape, metadata });
  }
  if (metadata.length > 0) members.push(`"metadata":{${metadata.join(",")}}`);
  return `{${members.join(",")}}`;
}

function idOf(id: unknown): string {
  if (typeof id === "string") return JSON.stringify(id);
  // Anything else that is no number is refused by its type.
  return typeof id === "number" || typeof id === "bigint" ? `"${id}"` : jsonOf(id, false);
}

/** Members of structs become keys with dots; lists that are not of one kind become JSON texts. */
function addMetadata(
  key: string,
  value: unknown,
  into: { readonly shape: TableShape; readonly metadata: string[] },
): void {
  if (value === null || value === undefined) return;
  if (isMembers(value)) {
    for (const [name, member] of membersOf(value)) addMetadata(`${key}.${name}`, member, into);
    return;
  }
  const isFloat = into.shape.floats.has(key);
  const list = listOf(value);
  const isText =
    list !== null && (isMixed(list) || list.some((one) => listOf(one) !== null || isMembers(one)));
  const json = jsonOf(value, isFloat);
  into.metadata.push(`${JSON.stringify(key)}:${isText ? JSON.stringify(json) : json}`);
}

function isMixed(list: readonly unknown[]): boolean {
  const kinds = new Set(
    list.map((one) => (typeof one === "bigint" ? "number" : one === null ? "null" : typeof one)),
  );
  return kinds.size > 1 || kinds.has("null");
}

function jsonOf(value: unknown, isFloat: boolean): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number")
    return isFloat && Number.isInteger(value) ? floatOf(value) : JSON.stringify(value);
  if (value instanceof Date) return JSON.stringify(value.toISOString());
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString("base64"));
  const list = listOf(value);
  if (list !== null) return `[${list.map((one) => jsonOf(one, isFloat)).join(",")}]`;
  if (!isMembers(value)) return JSON.stringify(value);
  const members = membersOf(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${jsonOf(member, isFloat)}`,
  );
  return `{${members.join(",")}}`;
}

function floatOf(value: number): string {
  const text = JSON.stringify(value);
  return /[.e]/u.test(text) ? text : `${text}.0`;
}

/** Of lists of either library; bytes are none. */
function listOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return null;
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>);
  // A vector of Arrow.
  const isVector = Symbol.iterator in value && "toArray" in value && !("toJSON" in value && "size" in value);
  return isVector && "type" in value ? Array.from(value as Iterable<unknown>) : null;
}

function isMembers(value: unknown): value is object {
  if (typeof value !== "object" || value === null || value instanceof Date) return false;
  return listOf(value) === null && !(value instanceof Uint8Array);
}

/** Rows of Arrow's structs and maps say what they are by `toJSON`. */
function membersOf(value: object): readonly (readonly [string, unknown])[] {
  const plain = "toJSON" in value && typeof value.toJSON === "function" ? (value.toJSON() as object) : value;
  return Object.entries(plain);
}
