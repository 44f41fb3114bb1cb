/**
 * Texts that every match of a regular expression contains, read off the pattern. The syntax is that of Rust's
 * `regex`. Understood are sequences of plain characters, groups and alternatives; whatever else stands in a pattern
 * only ends the text before it, and what could change the meaning of plain characters (flags) gives up the pattern.
 */

/** One list of texts per alternative of the pattern; a match has all texts of one of the lists. */
export type RequiredLiterals = readonly (readonly string[])[];

const LONE_SURROGATE = /\p{Surrogate}/u;

/** `null`: nothing is certain. The pattern is one that the engine accepts. */
export function requiredLiterals(pattern: string): RequiredLiterals | null {
  if (LONE_SURROGATE.test(pattern)) return null;
  const reader = new PatternReader(Array.from(pattern));
  const alternatives = reader.alternatives();
  return reader.failed || !reader.atEnd ? null : alternatives;
}

class PatternReader {
  failed = false;
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  get atEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  /** Up to the end of the pattern or the parenthesis that closes the group. */
  alternatives(): string[][] {
    const all = [this.#sequence()];
    while (!this.failed && this.#peek() === "|") {
      this.#at++;
      all.push(this.#sequence());
    }
    return all;
  }

  #sequence(): string[] {
    const texts: string[] = [];
    let text: string[] = [];
    const end = (): void => {
      if (text.length > 0) texts.push(text.join(""));
      text = [];
    };
    while (!this.failed && !this.atEnd && this.#peek() !== "|" && this.#peek() !== ")") {
      const character = this.#peek() === "(" ? null : this.#character();
      const grouped = character === null ? this.#group() : null;
      const repeated = this.#quantifier();
      if (typeof character === "string" && repeated !== "optional") text.push(character);
      if (typeof character !== "string" || repeated !== "once") end();
      // Of several alternatives none is certain.
      if (grouped?.length === 1 && repeated !== "optional") texts.push(...grouped[0]!);
    }
    end();
    return texts;
  }

  #group(): string[][] {
    this.#at++;
    if (this.#peek() === "?") this.#groupHead();
    const inside = this.alternatives();
    if (this.#peek() !== ")") this.failed = true;
    this.#at++;
    return inside;
  }

  /** `?:`, `?<name>` and `?P<name>` change nothing; everything else sets flags. */
  #groupHead(): void {
    this.#at++;
    if (this.#peek() === "P") this.#at++;
    if (this.#peek() === "<") this.#skipPast(">");
    else if (this.#peek() === ":") this.#at++;
    else this.failed = true;
  }

  /** One element that is no group: the character it stands for, or `undefined` if it is not that simple. */
  #character(): string | undefined {
    const character = this.#peek();
    if (character === "[") {
      this.#skipClass();
      return undefined;
    }
    this.#at++;
    if (character === "\\") return this.#escaped();
    return character === "." || character === "^" || character === "$" ? undefined : character;
  }

  #escaped(): string | undefined {
    const character = this.#peek();
    this.#at++;
    if (character === undefined || /[xuU]/.test(character)) this.failed = true;
    else if (/[pPb]/.test(character)) {
      if (this.#peek() === "{") this.#skipPast("}");
      else if (character !== "b") this.#at++;
    }
    // `\\<` and `\\>` are borders of words.
    return character === undefined || /[0-9A-Za-z<>]/.test(character) ? undefined : character;
  }

  #skipClass(): void {
    this.#at++;
    if (this.#peek() === "^") this.#at++;
    if (this.#peek() === "]") this.#at++;
    while (!this.atEnd && this.#peek() !== "]") {
      if (this.#peek() === "[") this.#skipClass();
      else this.#at += this.#peek() === "\\" ? 2 : 1;
    }
    this.#at++;
  }

  /** Whether what came before is there once, once or more, or perhaps not at all. */
  #quantifier(): "once" | "repeated" | "optional" {
    let found: "once" | "repeated" | "optional" = "once";
    for (;;) {
      const character = this.#peek();
      if (character === "?" || character === "*" || character === "{") found = "optional";
      else if (character !== "+") return found;
      else if (found === "once") found = "repeated";
      if (character === "{") this.#skipPast("}");
      else this.#at++;
    }
  }

  #skipPast(character: string): void {
    while (!this.atEnd && this.#peek() !== character) this.#at++;
    this.#at++;
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }
}
