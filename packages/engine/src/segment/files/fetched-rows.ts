/** Rows of a section that is not on this machine, as far as searches have asked for them. */
import { DataAbsent } from "../../storage/data-absent.ts";
import type { RowSection } from "../../storage/files/row-section.ts";

/**
 * Rows that are no farther apart are fetched with those between: a request takes as long as so many bytes, and those between are of
 * the same list and likely to come next. Where that is too much in all, the smaller gap counts.
 */
const GAPS_BYTES: readonly number[] = [64 * 1024, 8 * 1024, 0];
/** Of one read. Who looks at more of them waits until they are here. */
const MOST_READ_BYTES = 4 * 1024 * 1024;
/** Of one segment, in memory. */
const MOST_BYTES = 2 * MOST_READ_BYTES;

export class FetchedRows {
  readonly #section: RowSection;
  /** Oldest first. A read that begins again asks for the same rows: those that came beside them go first. */
  readonly #asked = new Map<number, Uint8Array>();
  readonly #beside = new Map<number, Uint8Array>();

  constructor(section: RowSection) {
    this.#section = section;
  }

  /** Throws `DataAbsent` where some of them are to be fetched. */
  require(rows: Uint32Array): void {
    const absent = rows.filter((row) => !this.#isHere(row)).toSorted();
    if (absent.length === 0) return;
    const runs = GAPS_BYTES.map((gap) => runsOf(absent, gap / this.#section.rowBytes)).find(
      (found) => this.#bytesOf(found) <= MOST_READ_BYTES,
    );
    throw new DataAbsent(runs === undefined ? null : () => this.#fetch(runs, new Set(absent)));
  }

  /** It is asked for. */
  #isHere(row: number): boolean {
    const bytes = this.#beside.get(row);
    if (bytes === undefined) return this.#asked.has(row);
    this.#beside.delete(row);
    this.#asked.set(row, bytes);
    return true;
  }

  /** Fills `into` with these rows. */
  tryReadEach(into: Uint8Array, rows: Uint32Array): boolean {
    for (const [i, number] of rows.entries()) {
      const row = this.#asked.get(number);
      if (row === undefined) return false;
      into.set(row, i * row.length);
    }
    return true;
  }

  #bytesOf(runs: readonly Run[]): number {
    return this.#section.rowBytes * runs.reduce((sum, [first, end]) => sum + end - first, 0);
  }

  async #fetch(runs: readonly Run[], wanted: ReadonlySet<number>): Promise<void> {
    const { rowBytes } = this.#section;
    const read = async ([first, end]: Run): Promise<Uint8Array> => {
      const bytes = new Uint8Array((end - first) * rowBytes);
      await this.#section.read(bytes, first);
      return bytes;
    };
    const fetched = await Promise.all(runs.map(read));
    for (const [i, [first, end]] of runs.entries())
      for (let row = first, at = 0; row < end; row++, at += rowBytes) {
        // What another read wants as well is among the newest again.
        const isAsked = wanted.has(row) || this.#asked.delete(row);
        this.#beside.delete(row);
        (isAsked ? this.#asked : this.#beside).set(row, fetched[i]!.slice(at, at + rowBytes));
      }
    for (const rows of [this.#beside, this.#asked])
      for (const oldest of rows.keys()) {
        if ((this.#asked.size + this.#beside.size) * rowBytes <= MOST_BYTES) return;
        rows.delete(oldest);
      }
  }
}

/** Rows that follow each other; the end is excluded. */
type Run = readonly [first: number, end: number];

/**
 * @param rows Ascending.
 * @param gap Most rows between two of a run.
 */
function runsOf(rows: Uint32Array, gap: number): readonly Run[] {
  const runs: [number, number][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last !== undefined && row - last[1] <= gap) last[1] = row + 1;
    else runs.push([row, row + 1]);
  }
  return runs;
}
