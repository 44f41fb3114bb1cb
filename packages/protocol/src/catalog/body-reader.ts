/**
 * Members of a plain JSON body, read by name. Absent and `null` are one and the same, as clients send `null` for
 * whatever they leave out. Every refusal names the path of the member. A wrong type is 422.
 */
import { unprocessable } from "../errors.ts";
import { isMembers, listOf, type Members, memberPath } from "../json/json-shape.ts";

export class BodyReader {
  readonly path: string;
  readonly #members: Members;

  /** Throws when `value` is no JSON object. */
  constructor(value: unknown, path: string) {
    if (!isMembers(value)) {
      throw unprocessable(path, path === "" ? "the body must be an object" : "must be an object");
    }
    this.path = path;
    this.#members = value;
  }

  pathOf(key: string): string {
    return memberPath(this.path, key);
  }

  /** `undefined` for absent and for `null`. */
  get(key: string): unknown {
    return Object.hasOwn(this.#members, key) ? (this.#members[key] ?? undefined) : undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** Names of the members that hold something, in the order of the body. */
  keys(): readonly string[] {
    return Object.keys(this.#members).filter((key) => this.has(key));
  }

  /** Throws at a member that is none of `known`. */
  refuseUnknown(known: readonly string[]): void {
    const stranger = this.keys().find((key) => !known.includes(key));
    if (stranger === undefined) return;
    const expected = known.length === 0 ? "no members at all" : listOf(known);
    throw unprocessable(this.pathOf(stranger), `is unknown, expected ${expected}`);
  }

  required(key: string): unknown {
    const value = this.get(key);
    if (value === undefined) throw unprocessable(this.pathOf(key), "is required");
    return value;
  }

  string(key: string): string | null {
    const value = this.get(key);
    if (value === undefined) return null;
    if (typeof value !== "string") throw unprocessable(this.pathOf(key), "must be a string");
    return value;
  }

  requiredString(key: string): string {
    this.required(key);
    return this.string(key) ?? "";
  }

  boolean(key: string): boolean | null {
    const value = this.get(key);
    if (value === undefined) return null;
    if (typeof value !== "boolean") throw unprocessable(this.pathOf(key), "must be true or false");
    return value;
  }

  /** One of a fixed list of words. */
  choice<T extends string>(key: string, choices: readonly T[]): T | null {
    const value = this.get(key);
    if (value === undefined) return null;
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) {
      throw unprocessable(this.pathOf(key), `must be ${listOf(choices)}`);
    }
    return chosen;
  }

  object(key: string): BodyReader | null {
    const value = this.get(key);
    return value === undefined ? null : new BodyReader(value, this.pathOf(key));
  }
}
