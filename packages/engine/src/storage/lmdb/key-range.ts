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

/** All keys there are. */
export const EVERY_KEY: Readonly<Record<"start" | "end", Uint8Array>> = {
  start: Uint8Array.of(0x00),
  end: Uint8Array.of(0xff),
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
