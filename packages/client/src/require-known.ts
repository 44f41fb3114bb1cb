/**
 * Refuses misspelt members of what a caller passes. TypeScript finds them in literals only, and programs in JavaScript
 * have nobody else to find them: `{ limt: 5 }` would be a search without a limit.
 */

/** Every member of `T`, so that the compiler finds one that is missing here. */
export type MembersOf<T> = Readonly<Record<keyof T, true>>;

/**
 * Passes `value` on.
 *
 * @throws TypeError that names the first unknown member by its path, and what is known.
 */
export function requireKnown<T extends object>(value: T, members: MembersOf<T>, path: string): T {
  for (const member of Object.keys(value)) {
    if (Object.hasOwn(members, member)) continue;
    throw new TypeError(`${path}.${member}: unknown member; known: ${Object.keys(members).join(", ")}`);
  }
  return value;
}
