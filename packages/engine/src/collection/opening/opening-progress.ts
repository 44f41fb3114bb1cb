/** How far the opening of a collection is: for the log, and for clients that ask meanwhile. */

/** Smaller collections are opened and verified in a moment, and there may be thousands. */
export const LOGGED_ROWS = 4_096;

export class OpeningProgress {
  readonly #log: (message: string) => void;
  readonly #startedAt = performance.now();
  #indexed = 0;
  #work: string | null = null;

  constructor(log: (message: string) => void) {
    this.#log = log;
  }

  /** Operations that the index has. */
  get indexedOperations(): number {
    return this.#indexed;
  }

  /** Rows were read from index files, and these operations are to be replayed. */
  replaying(rows: number, operations: number): void {
    const work = `${rows} rows from index files, operations to replay: ${operations}`;
    this.#begin(work, rows + operations);
  }

  /** All records are read. `records`: about so many. */
  rebuilding(records: number): void {
    this.#begin(`an index of about ${records} records, which are all read`, records);
  }

  /** Index files are lost; what they had is read from the records. Told of collections of any size: files are not often lost. */
  restoringLost(files: string): (rows: number) => void {
    const startedAt = performance.now();
    this.#log(`rebuilding what lost index files had, from the records: ${files}`);
    return (rows) => this.#log(`rebuilt ${rows} rows of lost index files in ${secondsSince(startedAt)} s`);
  }

  /** The index has all operations up to this one, or as many in another order. */
  reached(operations: number): void {
    this.#indexed = operations;
  }

  opened(): void {
    if (this.#work !== null) this.#log(`opened after ${secondsSince(this.#startedAt)} s: ${this.#work}`);
  }

  #begin(work: string, rows: number): void {
    if (rows < LOGGED_ROWS) return;
    this.#work = work;
    this.#log(`opening: ${work}`);
  }
}

export function secondsSince(start: number): string {
  return ((performance.now() - start) / 1_000).toFixed(2);
}
