/**
 * JSON as it is written rather than as it is meant: members may come twice, `__proto__` is a name like any other, and
 * a number may be one that no parser holds. Mutations work on these trees.
 */

/** Text that stands in the body as it is: `1e400`, `NaN`, an escape that no string of ours holds. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `[name, value]` in the order in which they are written. */
export interface JsonObject {
  readonly members: (readonly [name: string, value: JsonTree])[];
}

export type JsonTree = null | boolean | number | string | RawJson | JsonObject | JsonTree[];

export function isObject(tree: JsonTree): tree is JsonObject {
  return typeof tree === "object" && tree !== null && !Array.isArray(tree) && !(tree instanceof RawJson);
}

/** A tree of its own; what `JSON.stringify` leaves out is left out here. */
export function toTree(value: unknown): JsonTree {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Object.is(value, -0) ? new RawJson("-0") : value;
  if (Array.isArray(value)) return value.map(toTree);
  if (typeof value !== "object") throw new Error(`${typeof value} is no JSON`);
  const present = Object.entries(value).filter(([, member]) => member !== undefined);
  return { members: present.map(([name, member]) => [name, toTree(member)]) };
}

export function copyTree(tree: JsonTree): JsonTree {
  if (Array.isArray(tree)) return tree.map(copyTree);
  if (isObject(tree)) return { members: tree.members.map(([name, value]) => [name, copyTree(value)]) };
  return tree;
}

export function writeTree(tree: JsonTree): string {
  if (tree instanceof RawJson) return tree.text;
  if (Array.isArray(tree)) return `[${tree.map(writeTree).join(",")}]`;
  if (isObject(tree)) {
    return `{${tree.members.map(([name, value]) => `${JSON.stringify(name)}:${writeTree(value)}`).join(",")}}`;
  }
  return JSON.stringify(tree);
}
