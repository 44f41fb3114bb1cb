/**
 * About how much memory a message takes as JavaScript values: for budgets and caches, which bound the sum over many. What
 * V8 takes for each kind of value, rounded up; values that several places share count at each.
 */

/** An object of V8 with its map, its elements and its properties. */
const OBJECT_BYTES = 48;
/** A pointer. */
const SLOT_BYTES = 8;
const STRING_BYTES = 24;
const NUMBER_BYTES = 16;
/** A Map with its table; an entry has a key, a value and a place in a chain. */
const MAP_BYTES = 192;
const ENTRY_BYTES = 32;
/** A typed array with a buffer behind it. */
const VIEW_BYTES = 200;

/** Of a value of plain objects, lists, maps, typed arrays and scalars. */
export function heapBytes(value: unknown): number {
  if (typeof value === "string") return STRING_BYTES + value.length;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? NUMBER_BYTES : 0;
  if (ArrayBuffer.isView(value)) return VIEW_BYTES + value.byteLength;
  if (Array.isArray(value)) {
    let bytes = OBJECT_BYTES + SLOT_BYTES * value.length;
    for (const item of value) bytes += heapBytes(item);
    return bytes;
  }
  if (value instanceof Map) {
    let bytes = MAP_BYTES;
    for (const [key, member] of value) bytes += ENTRY_BYTES + heapBytes(key) + heapBytes(member);
    return bytes;
  }
  let bytes = OBJECT_BYTES;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in members) bytes += SLOT_BYTES + heapBytes(members[name]);
  return bytes;
}
