/**
 * Messages as bytes. What the processes of Sheaf say to each other nearly always consists of plain objects, lists, maps,
 * strings, numbers and typed arrays, and has a form of its own: V8's serializer takes longer to set up than a small
 * message takes to write, and every search crosses twice. A message with anything else in it is in V8's form, whole.
 * Either way each value arrives as it was, to the bit: bigint, -0, `undefined`, lone surrogates, Map, typed arrays. A
 * `JsonFloat` needs the own form.
 *
 * The first byte says which form. The own form is one value: a tag, and what the tag says; numbers are little-endian. A
 * name of a member is written once and then goes by its number, in all later messages of the same encoder too: what
 * processes say to each other has few names, and reading one from bytes costs more than what it names. The bytes of a
 * typed array begin at a multiple of 8 within the message, so that a decoded one is a view into it.
 */
export const OWN_FORM = 0;
export const V8_FORM = 1;

export const TAGS = {
  null: 0,
  undefined: 1,
  false: 2,
  true: 3,
  int32: 4,
  float64: 5,
  bigint64: 6,
  /** One byte per character. */
  latin1: 7,
  utf16: 8,
  list: 9,
  object: 10,
  map: 11,
  view: 12,
  jsonFloat: 13,
  /** Its digits as a string: beyond int64. */
  bigint: 14,
  /** A view that stands beside the bytes, by its place there. */
  detachedView: 15,
} as const;

/** A view's kind is its position here; a Buffer has the number after the last. */
export const VIEWS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;
export const BUFFER_KIND = VIEWS.length;
export const ALIGNMENT = 8;
/** Of names that get a number; they stay for the life of the channel, and keys of metadata are names too. */
export const MAX_NAMES = 1_024;
/** Instead of a number: a name follows that gets the next number. */
export const NEW_NAME = 0xff_ff_ff_fe;
/** Instead of a number: a name follows that gets none. */
export const OTHER_NAME = 0xff_ff_ff_ff;

export function aligned(position: number): number {
  return Math.ceil(position / ALIGNMENT) * ALIGNMENT;
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
