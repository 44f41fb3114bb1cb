/** Texts by number, each once: what cells name instead of repeating it. */

export interface Texts {
  /** `undefined`: it does not have the text. */
  find(text: string): number | undefined;
  /** `undefined`: there is no such number. */
  at(number: number): string | undefined;
}

export class TextTable implements Texts {
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #limit: number;

  /** Takes no more than `limit` texts. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** By number. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** `undefined`: the table does not have it and is full. */
  add(text: string): number | undefined {
    const known = this.#numbers.get(text);
    if (known !== undefined || this.#texts.length >= this.#limit) return known;
    this.#numbers.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  at(number: number): string | undefined {
    return this.#texts[number];
  }
}
