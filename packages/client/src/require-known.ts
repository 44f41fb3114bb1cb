/**
 * Refuses what a caller passes in another shape or with misspelt members. TypeScript finds them in literals only, and programs
 * in JavaScript have nobody else to find them: `{ limt: 5 }` would be a search without a limit.
 */

/** Every member of `T`, so that the compiler finds one that is missing here. */
export type MembersOf<T> = Readonly<Record<keyof T, true>>;

/**
 * Passes `value` on.
 *
 * @throws TypeError for what is no object, and for the first unknown member, by its path, with what is known.
 */
export function requireKnown<T extends object>(value: T, members: MembersOf<T>, path: string): T {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError(`${path}: must be an object; known members: ${known(members)}`);
  for (const member of Object.keys(value)) {
    if (Object.hasOwn(members, member)) continue;
    throw new TypeError(`${path}.${member}: unknown member; known: ${known(members)}`);
  }
  return value;
}

/** An object whose members count: no list, no typed array, nothing made by a class. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @throws TypeError for what is no array. */
export function requireArray<T>(value: readonly T[], path: string): readonly T[] {
  if (!Array.isArray(value)) throw new TypeError(`${path}: must be an array`);
  return value;
}

function known(members: object): string {
  return Object.keys(members).join(", ");
}
