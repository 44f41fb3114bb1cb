/** A range of keys in a store, and how lmdb-js is told of it. */
export interface KeyRange {
  /** Included. */
  readonly start: Uint8Array;
  /** Excluded. */
  readonly end: Uint8Array;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Inside `transact`: without what the group has written. */
  readonly isCommitted?: boolean | undefined;
}

/** Above every key: an id of a share, which may be 16 times 0xff, is followed by a smaller byte. */
const AFTER_ALL_KEYS = new Uint8Array(17).fill(0xff);

/** All keys there are, in an environment of one store or of many. */
export const EVERY_KEY: Readonly<Record<"start" | "end", Uint8Array>> = {
  start: Uint8Array.of(0x00),
  end: AFTER_ALL_KEYS,
};

export function toOptions({ start, end, limit, offset }: KeyRange): {
  start: Uint8Array;
  end: Uint8Array;
  limit?: number;
  offset?: number;
} {
  return {
    start,
    end,
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  };
}
