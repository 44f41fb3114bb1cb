/**
 * A float literal whose value is whole (`3.0`, `1e2`, `-0.0`). As a plain number it would look like an integer
 * literal, and metadata must come back as it was written. `readJson` is the maker; parsers take it for a number.
 */
export class JsonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
    Object.freeze(this);
  }

  /** `JSON.stringify` writes the number. */
  toJSON(): number {
    return this.value;
  }
}
