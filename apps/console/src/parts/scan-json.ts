/** Where the parts of a JSON text stand, and what a browser would not keep of it. */

export interface JsonPart {
  /** As the server names places: `rank.$sum[1].$knn`. */
  readonly path: string;
  /** Of its name, or of the value where it has none: an item, or the whole. */
  readonly from: number;
  readonly to: number;
  /** Another member of the object has this name, too. */
  readonly isRepeated: boolean;
  /** Of a number, a word or a text, as it is written; "" of what has parts. */
  readonly raw: string;
}

interface Container {
  readonly isObject: boolean;
  readonly path: string;
  readonly names: Set<string>;
  name: { readonly text: string; readonly from: number; readonly to: number } | null;
  index: number;
}

const TOKEN = /[{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/gsu;
const WHOLE_NUMBER = /^-?\d+$/u;
const NUMBER = /^-?\d/u;

/** Of a text that `JSON.parse` takes. */
export function* jsonParts(text: string): Generator<JsonPart> {
  const stack: Container[] = [];
  for (const { 0: token, index: from } of text.matchAll(TOKEN)) {
    const top = stack.at(-1);
    if (token === ":") continue;
    if (token === ",") {
      if (top === undefined) continue;
      top.name = null;
      top.index++;
    } else if (token === "}" || token === "]") stack.pop();
    else if (top?.isObject === true && top.name === null)
      top.name = { text: String(JSON.parse(token)), from, to: from + token.length };
    else {
      const opens = token === "{" || token === "[";
      const part = partOf(top, opens ? "" : token, { from, to: from + token.length });
      yield part;
      if (opens)
        stack.push({ isObject: token === "{", path: part.path, names: new Set(), name: null, index: 0 });
    }
  }
}

function partOf(
  parent: Container | undefined,
  raw: string,
  range: { readonly from: number; readonly to: number },
): JsonPart {
  if (parent === undefined) return { path: "", ...range, isRepeated: false, raw };
  const { name, names, index, path } = parent;
  if (name === null) return { path: `${path}[${index}]`, ...range, isRepeated: false, raw };
  const isRepeated = names.has(name.text);
  names.add(name.text);
  const { text, from, to } = name;
  return { path: path === "" ? text : `${path}.${text}`, from, to, isRepeated, raw };
}

/** Why a browser would send something else than what is written; `null`: it would not. */
export function lossIn(text: string): string | null {
  for (const { path, isRepeated, raw } of jsonParts(text)) {
    if (isRepeated) return `${path}: is there twice, and only the last one would count`;
    if (NUMBER.test(raw) && isLost(raw))
      return `${path === "" ? "" : `${path}: `}a browser would change the number ${raw}; leave such numbers to programs`;
  }
  return null;
}

function isLost(raw: string): boolean {
  const value = Number(raw);
  if (!Number.isFinite(value)) return true;
  return WHOLE_NUMBER.test(raw) && BigInt(raw) !== BigInt(value) && String(value) !== raw;
}

/** What stands at a place, or at the innermost one around it that is there. */
export function partAt(text: string, place: string): JsonPart | null {
  let found: JsonPart | null = null;
  for (const part of jsonParts(text)) {
    const { path } = part;
    const rest = place.slice(path.length);
    const holds = place.startsWith(path) && (path === "" || rest === "" || /^[.[]/u.test(rest));
    if (holds && (found === null || path.length > found.path.length)) found = part;
  }
  return found;
}

/** Of a place in the text, from 1 on. */
export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
