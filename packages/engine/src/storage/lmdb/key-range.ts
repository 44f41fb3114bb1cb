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
