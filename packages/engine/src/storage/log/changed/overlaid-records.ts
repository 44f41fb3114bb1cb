/** Records with what has changed since over them: both by ascending offset, and so is what they make. */
import type { StoredRecord } from "../../stored-record.ts";
import { recordBytes } from "../../values/record-bytes.ts";
import type { ChangedOffset } from "./log-changes.ts";

/**
 * In pieces, the last of which may be empty.
 *
 * @param changes In pieces of which none is empty.
 * @param bytes About as many are given at once.
 */
export async function* overlaidRecords(
  records: AsyncIterable<readonly StoredRecord[]>,
  changes: AsyncGenerator<readonly ChangedOffset[]>,
  bytes: number,
): AsyncGenerator<readonly StoredRecord[], void> {
  const overlay = new Overlay(changes, bytes);
  try {
    for await (const piece of records) {
      for (let at = 0; at < piece.length;) {
        if (overlay.isUsedUp) await overlay.load();
        at = overlay.goOn(piece, at);
        if (overlay.isFull) yield overlay.take();
      }
    }
    for (;;) {
      if (overlay.isUsedUp) await overlay.load();
      if (!overlay.addChange()) break;
      if (overlay.isFull) yield overlay.take();
    }
    yield overlay.take();
  } finally {
    await changes.return(undefined);
  }
}

class Overlay {
  readonly #changes: AsyncGenerator<readonly ChangedOffset[]>;
  readonly #bytes: number;
  #held: readonly ChangedOffset[] = [];
  /** Of those that are held, the next one. */
  #next = 0;
  /** Nothing else has changed. */
  #isEnd = false;
  #piece: StoredRecord[] = [];
  #pieceBytes = 0;

  constructor(changes: AsyncGenerator<readonly ChangedOffset[]>, bytes: number) {
    this.#changes = changes;
    this.#bytes = bytes;
  }

  /** More has perhaps changed than is held. */
  get isUsedUp(): boolean {
    return !this.#isEnd && this.#next === this.#held.length;
  }

  async load(): Promise<void> {
    const { done, value } = await this.#changes.next();
    this.#isEnd = done === true;
    [this.#held, this.#next] = [done === true ? [] : value, 0];
  }

  get isFull(): boolean {
    return this.#pieceBytes >= this.#bytes;
  }

  take(): readonly StoredRecord[] {
    const piece = this.#piece;
    [this.#piece, this.#pieceBytes] = [[], 0];
    return piece;
  }

  /** Adds records from there on, as far as it is known what has changed, until the piece is full. Returns where it got to. */
  goOn(records: readonly StoredRecord[], from: number): number {
    let at = from;
    while (at < records.length && !this.isFull && !this.isUsedUp) {
      const [record, change] = [records[at]!, this.#held[this.#next]];
      if (change === undefined || record.offset < change.offset) this.#add(record);
      else this.addChange();
      // What has changed there was added in its place.
      if (change === undefined || record.offset <= change.offset) at += 1;
    }
    return at;
  }

  /** The next one that is held; `false`: there is none. */
  addChange(): boolean {
    const change = this.#held[this.#next];
    if (change === undefined) return false;
    this.#next += 1;
    if (change.record !== null) this.#add(change.record);
    return true;
  }

  #add(record: StoredRecord): void {
    this.#piece.push(record);
    this.#pieceBytes += recordBytes(record);
  }
}
