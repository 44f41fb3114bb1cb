/**
 * Finds a member that stands twice in one object. `JSON.parse` keeps the last of the two without a word, so a body is
 * suspect exactly when its text has more members than the value made of it; only then is the text walked again.
 */
import { JsonFloat } from "./json-float.ts";
import { itemPath, memberPath } from "./json-shape.ts";

/** An index of an array or the name of a member. */
type Step = number | string;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Whether the objects in a value of `readJson` have exactly `expected` members; they never have more. Arrays that begin
 * with something plain come last, which spares an ordinary write the walk over its vectors.
 */
export function hasMembers(value: unknown, expected: number): boolean {
  const next: object[] = [];
  const later: object[] = [];
  const put = (item: unknown): void => {
    if (!isContainer(item)) return;
    (Array.isArray(item) && !isContainer(item[0]) ? later : next).push(item);
  };
  put(value);
  let missing = expected;
  while (missing > 0) {
    const container = next.pop() ?? later.pop();
    if (container === undefined) return false;
    if (Array.isArray(container)) {
      for (let index = 0; index < container.length; index += 1) put(container[index]);
    } else {
      const members = container as Record<string, unknown>;
      // Objects of `readJson` inherit nothing enumerable; listing their keys would take twice as long.
      for (const name in members) {
        missing -= 1;
        put(members[name]);
      }
    }
  }
  return true;
}

function isContainer(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && !(value instanceof JsonFloat) && !ArrayBuffer.isView(value)
  );
}

/**
 * Path of the first member whose name its object has had before; `null` if there is none.
 *
 * @param bytes Valid JSON, nested no deeper than `LIMITS.jsonDepth`.
 */
export function findRepeatedMember(bytes: Uint8Array): string | null {
  const walk = new RepeatWalk(bytes);
  return walk.value() ? pathOf(walk.steps) : null;
}

/** Each method starts at the first byte of its thing and ends behind the last; `true` ends the walk at a repeat. */
class RepeatWalk {
  readonly steps: Step[] = [];
  readonly #bytes: Uint8Array;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#skipSpace();
  }

  value(): boolean {
    switch (this.#bytes[this.#at]) {
      case OPEN_OBJECT:
        return this.#members();
      case OPEN_ARRAY:
        return this.#items();
      case QUOTE:
        this.#skipString();
        return false;
      default:
        this.#skipToken();
        return false;
      case undefined:
        return false;
    }
  }

  #members(): boolean {
    const seen = new Set<string>();
    this.#at += 1;
    for (this.#skipSpace(); this.#bytes[this.#at] !== CLOSE_OBJECT; this.#skipComma()) {
      const name = this.#name();
      this.steps.push(name);
      if (seen.has(name)) return true;
      seen.add(name);
      this.#skipSpace();
      this.#at += 1; // The colon.
      this.#skipSpace();
      if (this.value()) return true;
      this.steps.pop();
    }
    this.#at += 1;
    return false;
  }

  #items(): boolean {
    const place = this.steps.push(0) - 1;
    this.#at += 1;
    this.#skipSpace();
    for (let index = 0; this.#bytes[this.#at] !== CLOSE_ARRAY; index += 1) {
      this.steps[place] = index;
      if (this.value()) return true;
      this.#skipComma();
    }
    this.steps.pop();
    this.#at += 1;
    return false;
  }

  #name(): string {
    const start = this.#at;
    this.#skipString();
    return JSON.parse(this.#decoder.decode(this.#bytes.subarray(start, this.#at))) as string;
  }

  #skipString(): void {
    for (this.#at += 1; this.#bytes[this.#at] !== QUOTE; this.#at += 1) {
      if (this.#bytes[this.#at] === BACKSLASH) this.#at += 1;
    }
    this.#at += 1;
  }

  /** A number or a literal. */
  #skipToken(): void {
    while (!this.#atEndOfToken()) this.#at += 1;
  }

  #atEndOfToken(): boolean {
    const byte = this.#bytes[this.#at];
    return (
      byte === undefined || byte <= 0x20 || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT
    );
  }

  /** To the next member or item, or to the closing bracket. */
  #skipComma(): void {
    this.#skipSpace();
    if (this.#bytes[this.#at] === COMMA) this.#at += 1;
    this.#skipSpace();
  }

  #skipSpace(): void {
    while ((this.#bytes[this.#at] ?? QUOTE) <= 0x20) this.#at += 1;
  }
}

function pathOf(steps: readonly Step[]): string {
  return steps.reduce<string>(
    (path, step) => (typeof step === "number" ? itemPath(path, step) : memberPath(path, step)),
    "",
  );
}
