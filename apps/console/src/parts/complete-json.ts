/** What may stand at a place of a JSON text that is being typed. */

/** The string that the caret is in. */
export interface Spot {
  /** Behind its first quote. */
  readonly from: number;
  /** Behind what it replaces: the caret, or the quote that ends the string. */
  readonly to: number;
  readonly typed: string;
  /** Names of the members that it is in, the outermost first. */
  readonly path: readonly string[];
  /** Whether it is the name of a member, not a value. */
  readonly isName: boolean;
}

/** The words for a place, by whatever the JSON is about. */
export type Grammar = (spot: Pick<Spot, "path" | "isName">) => readonly string[];

export interface Completion {
  readonly spot: Spot;
  readonly options: readonly string[];
}

const MOST_OPTIONS = 8;

interface Container {
  readonly isObject: boolean;
  /** Of the member that is being read. */
  name: string | null;
}

/** `null`: the caret is in no string. The text in front of it need not be complete, and what follows is not looked at. */
export function spotAt(text: string, caret: number): Spot | null {
  const stack: Container[] = [];
  for (let i = 0; i < caret; i++) {
    const top = stack.at(-1);
    const character = text[i]!;
    if (character === "{" || character === "[") stack.push({ isObject: character === "{", name: null });
    else if (character === "}" || character === "]") stack.pop();
    else if (character === "," && top !== undefined) top.name = null;
    else if (character === '"') {
      const end = endOfString(text, i + 1, caret);
      const isName = top?.isObject === true && top.name === null;
      if (end === null) {
        const path = stack.flatMap(({ name }) => (name === null ? [] : [name]));
        const rest = /^[^"\\\n,:{}[\]]*"/u.exec(text.slice(caret))?.[0].length ?? 0;
        return { from: i + 1, to: caret + rest, typed: text.slice(i + 1, caret), path, isName };
      }
      if (isName) top.name = unquoted(text.slice(i, end + 1));
      i = end;
    }
  }
  return null;
}

export function completionAt(text: string, caret: number, grammar: Grammar): Completion | null {
  const spot = spotAt(text, caret);
  if (spot === null) return null;
  const typed = spot.typed.toLowerCase();
  const options = [...new Set(grammar(spot))]
    .filter((option) => option.toLowerCase().includes(typed) && option !== spot.typed)
    // What begins as it was typed comes first.
    .sort((a, b) => Number(b.toLowerCase().startsWith(typed)) - Number(a.toLowerCase().startsWith(typed)))
    .slice(0, MOST_OPTIONS);
  return options.length === 0 ? null : { spot, options };
}

/** The text with the option in its place, and the caret behind it. */
export function completed(
  text: string,
  { from, to, isName }: Spot,
  option: string,
): { readonly text: string; readonly caret: number } {
  const rest = text.slice(to);
  const colon = isName && !/^\s*:/u.test(rest) ? ": " : "";
  const before = `${text.slice(0, from)}${JSON.stringify(option).slice(1)}${colon}`;
  return { text: before + rest, caret: before.length };
}

/** Index of the quote that ends the string; `null`: the string goes on beyond `until`. */
function endOfString(text: string, from: number, until: number): number | null {
  for (let i = from; i < until; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return i;
  }
  return null;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}
