/** The records of a collection at one state, for whoever writes them down: of a store that has all of them, or of several places. */
import { type CancelSignal, throwIfAborted } from "@sheaf/protocol";
import type { DiskSpace } from "../../folder/disk-space.ts";
import type { RecordStore, StoreHead } from "../../record-store.ts";
import { runInTurns } from "../../steps.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { recordBytes } from "../../values/record-bytes.ts";
import { partitionOf } from "../partition-of.ts";

/** About as many are given at once. */
export const SOURCE_PIECE_BYTES = 4 * 1024 * 1024;

/** A folder for what lies on the disk while records are written down, which may not be there yet; whoever names it removes it. */
export interface Scratch {
  readonly folder: string;
  readonly disk: DiskSpace;
}

export interface RecordSource {
  readonly head: StoreHead;
  /** Of the collection. */
  readonly partitions: number;
  /** Where what grows with the number of records is kept meanwhile; in memory if it is left out. */
  readonly scratch?: Scratch | undefined;
  /** How much they are as a file, about, if that is known. */
  readonly expectedBytes?: number | undefined;
  /**
   * By ascending offset, in pieces, which may be empty.
   *
   * @param partition Whose records are wanted; `null`: all.
   */
  pieces(partition: number | null, signal: CancelSignal): AsyncIterable<readonly StoredRecord[]>;
}

/** Of a store that nobody writes. In memory are, where the collection has several partitions, 8 bytes for each record. */
export class StoredRecords implements RecordSource {
  readonly partitions: number;
  readonly scratch: Scratch | undefined;
  readonly expectedBytes: number | undefined;
  readonly #store: Pick<RecordStore, "head" | "read" | "scan">;
  /** Of each partition; `null`: nobody has asked yet. */
  #offsets: Promise<readonly (readonly number[])[]> | null = null;

  constructor(
    store: Pick<RecordStore, "head" | "read" | "scan">,
    partitions = 1,
    { scratch, expectedBytes }: Pick<RecordSource, "expectedBytes" | "scratch"> = {},
  ) {
    this.#store = store;
    this.partitions = partitions;
    [this.scratch, this.expectedBytes] = [scratch, expectedBytes];
  }

  get head(): StoreHead {
    return this.#store.head;
  }

  async *pieces(
    partition: number | null,
    signal: CancelSignal,
  ): AsyncGenerator<readonly StoredRecord[], void> {
    const records = partition === null ? this.#all() : await this.#own(partition, signal);
    for (let isMore = true; isMore;) {
      throwIfAborted(signal);
      const piece: Piece = await runInTurns(pieceOf(records));
      yield piece.records;
      ({ isMore } = piece);
    }
  }

  async #own(partition: number, signal: CancelSignal): Promise<Generator<StoredRecord, undefined>> {
    this.#offsets ??= this.#offsetsByPartition(signal);
    return this.#at((await this.#offsets)[partition]!);
  }

  *#at(offsets: readonly number[]): Generator<StoredRecord, undefined> {
    for (const offset of offsets) yield this.#store.read(offset)!;
  }

  /** A scan ends within its turn. */
  *#all(): Generator<StoredRecord, undefined> {
    for (let from = 0; ;) {
      const [record] = this.#store.scan(from);
      if (record === undefined) return;
      yield record;
      from = record.offset + 1;
    }
  }

  /** Goes through the store once. */
  async #offsetsByPartition(signal: CancelSignal): Promise<readonly (readonly number[])[]> {
    const { partitions } = this;
    const offsets = Array.from({ length: partitions }, (): number[] => []);
    const records = this.#all();
    await runInTurns(
      (function* () {
        for (const { id, offset } of records) {
          offsets[partitionOf(id, partitions)]!.push(offset);
          yield;
        }
      })(),
      { onRunning: () => throwIfAborted(signal) },
    );
    return offsets;
  }
}

interface Piece {
  readonly records: readonly StoredRecord[];
  /** Whether others may follow. */
  readonly isMore: boolean;
}

function* pieceOf(records: Generator<StoredRecord, undefined>): Generator<void, Piece> {
  const piece: StoredRecord[] = [];
  for (let bytes = 0; bytes < SOURCE_PIECE_BYTES;) {
    const { value: record } = records.next();
    if (record === undefined) return { records: piece, isMore: false };
    piece.push(record);
    bytes += recordBytes(record);
    yield;
  }
  return { records: piece, isMore: true };
}
