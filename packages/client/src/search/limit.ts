/** The page of a search. */

export interface LimitJson {
  readonly offset: number;
  readonly limit?: number;
}

export interface LimitOptions {
  readonly offset?: number;
  readonly limit?: number | null | undefined;
}

export type LimitInput = Limit | LimitOptions | number | null | undefined;

/** How many records a search skips, and how many it gives. */
export class Limit {
  readonly offset: number;
  readonly limit?: number;

  constructor({ offset = 0, limit }: LimitOptions = {}) {
    if (!(Number.isInteger(offset) && offset >= 0)) {
      throw new TypeError("offset: must be an integer of at least 0");
    }
    this.offset = offset;
    if (limit === null || limit === undefined) return;
    if (!(Number.isInteger(limit) && limit > 0)) throw new TypeError("limit: must be a positive integer");
    this.limit = limit;
  }

  /** A number is a limit, beside which `offset` counts. */
  static from(input: LimitInput, offset?: number): Limit {
    if (typeof input === "number") return new Limit({ limit: input, offset: offset ?? 0 });
    return new Limit(input ?? {});
  }

  toJSON(): LimitJson {
    return this.limit === undefined ? { offset: this.offset } : { offset: this.offset, limit: this.limit };
  }
}
