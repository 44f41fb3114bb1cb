/**
 * JSON of descriptions of collections, as the catalog keeps it. Configuration and schema are nearly all of it, some 3 KiB, and
 * nearly all collections of a server have the same ones: their text and what it means are kept for those that came last, so
 * most descriptions are read and written without reading or writing these.
 */
import { type Json, JsonFloat, type JsonObject, writeFloat64 } from "@sheaf/protocol";

/**
 * Stands before a float that is whole (`2.0`), which is kept as a string: `JSON.parse` takes `2.0` for `2`. A string
 * that begins with it gets a second one.
 */
const MARK = "\u007f";
/** Of different configurations and schemas. Each is compared with a description until one fits. */
const MOST_KNOWN = 8;
/** Longer ones are not kept. */
const MOST_CHARACTERS = 64 * 1024;
const BEFORE = ',"configuration":';

/** Frozen: collections share them. */
interface Indexing {
  readonly configuration: JsonObject;
  readonly schema: JsonObject;
}

/** Text of both as members of a description -> what it means; the one that was used last is the last. */
const known = new Map<string, Indexing>();
/** Of configurations and schemas. */
const texts = new WeakMap<object, string>();

/** @param fields Of JSON. */
export function writeDescription(fields: object): string {
  const members = Object.entries(fields as Readonly<Record<string, Json>>).map(([name, value]) => {
    const isKept = name === "configuration" || name === "schema";
    return `${JSON.stringify(name)}:${isKept ? keptText(value as JsonObject) : textOf(value)}`;
  });
  return `{${members.join(",")}}`;
}

/** Throws `SyntaxError`. What it gives is not to be changed. */
export function readDescription(text: string): unknown {
  const at = text.indexOf(BEFORE) + 1;
  if (at === 0) return parse(text);
  for (const [members, indexing] of known) {
    if (!text.startsWith(members, at)) continue;
    known.delete(members);
    known.set(members, indexing);
    // What lies behind them begins with a comma.
    const rest = parse(text.slice(0, at - 1) + text.slice(at + members.length)) as object;
    return { ...rest, ...indexing };
  }
  const fields = parse(text) as Partial<Indexing>;
  remember(fields, text, at);
  return fields;
}

function remember({ configuration, schema }: Partial<Indexing>, text: string, at: number): void {
  if (configuration === undefined || schema === undefined || text.length > MOST_CHARACTERS) return;
  const members = `"configuration":${keptText(configuration)},"schema":${keptText(schema)}`;
  if (!text.startsWith(members, at)) return;
  known.set(members, { configuration: frozen(configuration), schema: frozen(schema) });
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!);
}

function frozen<T extends Json>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of membersOf(value)) frozen(member);
  return Object.freeze(value);
}

function keptText(value: JsonObject): string {
  const before = texts.get(value);
  if (before !== undefined) return before;
  const text = textOf(value);
  texts.set(value, text);
  return text;
}

/** `JSON.stringify` takes several times as long where it has to ask for each member. */
function textOf(value: Json): string {
  return isPlain(value) ? JSON.stringify(value) : JSON.stringify(value, markFloats);
}

function isPlain(value: Json): boolean {
  if (typeof value === "string") return !value.startsWith(MARK);
  if (typeof value !== "object" || value === null) return true;
  if (value instanceof JsonFloat) return false;
  return membersOf(value).every(isPlain);
}

function membersOf(value: object): readonly Json[] {
  return Object.values(value as Readonly<Record<string, Json>>);
}

/** `JSON.stringify` has called `toJSON` by now, so the value itself is looked up. */
function markFloats(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "string") return value.startsWith(MARK) ? MARK + value : value;
  const original: unknown = (this as Readonly<Record<string, unknown>>)[key];
  return original instanceof JsonFloat ? MARK + writeFloat64(original.value) : value;
}

/** Few descriptions hold a mark, and looking for one is fast. */
function parse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(MARK) ? unmarked(value) : value;
}

function unmarked(value: unknown): unknown {
  if (typeof value === "string") {
    if (!value.startsWith(MARK)) return value;
    const rest = value.slice(MARK.length);
    return rest.startsWith(MARK) ? rest : new JsonFloat(Number(rest));
  }
  if (Array.isArray(value)) return value.map(unmarked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unmarked(member)]));
}
