/** What a process has last heard of a catalog that other servers change. */
export interface CatalogNews {
  /** Of this process, for the state it knows of: another number once that has changed. */
  readonly state: number;
  /** Since the moment of which it is known. */
  readonly ageMs: number;
  /** The database cannot be reached. */
  readonly isAway: boolean;
}
