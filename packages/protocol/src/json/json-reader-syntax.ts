/**
 * Says where a body stops being JSON. Runs only after `JSON.parse` has refused it: the messages of JavaScript engines
 * name the position in some cases, quote the caller's text in others, and change between versions.
 */

export interface SyntaxFault {
  /** Byte of the first character that cannot be. */
  readonly offset: number;
  readonly problem: string;
}

class Fault extends Error {
  readonly fault: SyntaxFault;

  constructor(offset: number, problem: string) {
    super(problem);
    this.fault = { offset, problem };
  }
}

const encoder = new TextEncoder();
const LITERALS = ["true", "false", "null"].map((literal) => encoder.encode(literal));

/** The first fault of bytes nested no deeper than `LIMITS.jsonDepth`. */
export function findSyntaxFault(bytes: Uint8Array): SyntaxFault {
  try {
    const end = skipSpace(bytes, readValue(bytes, skipSpace(bytes, 0)));
    return end < bytes.length
      ? { offset: end, problem: "unexpected data after the value" }
      : { offset: 0, problem: "not JSON" };
  } catch (error) {
    if (error instanceof Fault) return error.fault;
    throw error;
  }
}

/** Each reader takes the offset of its first byte and returns the one after its last. */
function readValue(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case undefined:
      throw new Fault(at, "unexpected end of input");
    case 0x7b:
      return readMembers(bytes, at + 1);
    case 0x5b:
      return readItems(bytes, at + 1);
    case 0x22:
      return readString(bytes, at + 1);
    default:
      return readLiteral(bytes, at) ?? readNumber(bytes, at);
  }
}

function readMembers(bytes: Uint8Array, start: number): number {
  let at = skipSpace(bytes, start);
  if (bytes[at] === 0x7d) return at + 1;
  for (;;) {
    if (bytes[at] !== 0x22) throw unexpected(bytes, at, "a member name in double quotes");
    at = skipSpace(bytes, readString(bytes, at + 1));
    if (bytes[at] !== 0x3a) throw unexpected(bytes, at, "`:`");
    at = skipSpace(bytes, readValue(bytes, skipSpace(bytes, at + 1)));
    if (bytes[at] === 0x7d) return at + 1;
    if (bytes[at] !== 0x2c) throw unexpected(bytes, at, "`,` or `}`");
    at = skipSpace(bytes, at + 1);
  }
}

function readItems(bytes: Uint8Array, start: number): number {
  let at = skipSpace(bytes, start);
  if (bytes[at] === 0x5d) return at + 1;
  for (;;) {
    at = skipSpace(bytes, readValue(bytes, at));
    if (bytes[at] === 0x5d) return at + 1;
    if (bytes[at] !== 0x2c) throw unexpected(bytes, at, "`,` or `]`");
    at = skipSpace(bytes, at + 1);
  }
}

function readString(bytes: Uint8Array, start: number): number {
  for (let at = start; ; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw new Fault(at, "unexpected end of input in a string");
    if (byte === 0x22) return at + 1;
    if (byte < 0x20) throw new Fault(at, "control character in a string");
    if (byte === 0x5c) at = readEscape(bytes, at + 1);
  }
}

/** Returns the last byte of the escape. */
function readEscape(bytes: Uint8Array, at: number): number {
  const letter = String.fromCharCode(bytes[at] ?? 0);
  if (letter !== "u") {
    if ('"\\/bfnrt'.includes(letter)) return at;
    throw unexpected(bytes, at, "an escape");
  }
  for (let digit = at + 1; digit <= at + 4; digit += 1) {
    if (!/[0-9a-fA-F]/.test(String.fromCharCode(bytes[digit] ?? 0))) {
      throw unexpected(bytes, digit, "a hexadecimal digit");
    }
  }
  return at + 4;
}

function readLiteral(bytes: Uint8Array, at: number): number | null {
  const found = LITERALS.find((literal) => literal.every((byte, index) => bytes[at + index] === byte));
  return found === undefined ? null : at + found.length;
}

function readNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (!isDigit(bytes[at])) throw unexpected(bytes, at, "a value");
  at = bytes[at] === 0x30 ? at + 1 : readDigits(bytes, at);
  if (bytes[at] === 0x2e) at = readDigits(bytes, at + 1);
  if (bytes[at] !== 0x65 && bytes[at] !== 0x45) return at;
  at += 1;
  return readDigits(bytes, bytes[at] === 0x2b || bytes[at] === 0x2d ? at + 1 : at);
}

function readDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at += 1;
  if (at === start) throw unexpected(bytes, at, "a digit");
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

function unexpected(bytes: Uint8Array, at: number, expected: string): Fault {
  const found = at < bytes.length ? "unexpected character" : "unexpected end of input";
  return new Fault(at, `${found}, expected ${expected}`);
}
