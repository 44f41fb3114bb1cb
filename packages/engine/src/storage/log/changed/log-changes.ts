/**
 * What a log has changed since a state, on the disk: of each offset what is there now, a record or nothing. Only what the log
 * says is here, so it takes no more room than the log may.
 */
import { CorruptDataError, type DataOrigin } from "../../corrupt-data-error.ts";
import type { Entry } from "../../entries.ts";
import { NUMBER_KEY_BYTES, numberKey, readNumber } from "../../number-key.ts";
import type { StoreChange } from "../../record-store.ts";
import { type Steps, runInTurns } from "../../steps.ts";
import type { StoredRecord } from "../../stored-record.ts";
import { ValueWriter } from "../../values/value-writer.ts";
import { decodeValue, encodeValue } from "../batch-codec.ts";
import { partitionOf } from "../partition-of.ts";
import { SOURCE_PIECE_BYTES } from "./record-source.ts";

/** Of an entry beside its value: the key, and the tree above it. */
const ENTRY_BYTES = 64;
/** No value of a record is as short. */
const REMOVED = Uint8Array.of(0);
/** Read in one turn. */
const MOST_ENTRIES = 4_096;

/** What they are kept in, by key; as of an LMDB environment. */
export interface ChangeEntries {
  origin(key: Uint8Array): DataOrigin;
  iterate(range: { readonly start: Uint8Array; readonly end: Uint8Array }): Iterable<Entry>;
  transact<T>(action: () => Steps<T>): Promise<T>;
  put(key: Uint8Array, value: Uint8Array, isOwned?: boolean): void;
  claim(bytes: number): void;
  close(): Promise<void>;
}

/** Where that is made, once something has changed. */
export interface ChangePlace {
  make(): ChangeEntries;
}

/** What is at an offset now; `null`: nothing any more. */
export interface ChangedOffset {
  readonly offset: number;
  readonly record: StoredRecord | null;
}

export class LogChanges {
  readonly #place: ChangePlace;
  /** How many are told apart. */
  readonly #partitions: number;
  readonly #writer = new ValueWriter();
  /** `null`: nothing has changed yet. */
  #entries: ChangeEntries | null = null;

  /** @param place With nothing in it. */
  constructor(place: ChangePlace, partitions: number) {
    this.#place = place;
    this.#partitions = partitions;
  }

  /** In the order of the log. Throws `storage_full`. */
  async add(changes: readonly StoreChange[]): Promise<void> {
    if (changes.length === 0) return;
    const entries = (this.#entries ??= this.#place.make());
    await entries.transact(() => this.#put(entries, changes));
  }

  *#put(entries: ChangeEntries, changes: readonly StoreChange[]): Generator<void, void> {
    let bytes = 0;
    for (const { removes, puts } of changes) {
      for (const { id, offset } of removes) {
        entries.put(this.#key(id, offset), REMOVED);
        bytes += ENTRY_BYTES;
        yield;
      }
      for (const record of puts) {
        const value = yield* encodeValue(this.#writer, record);
        entries.put(this.#key(record.id, record.offset), value, true);
        bytes += ENTRY_BYTES + value.length;
        yield;
      }
    }
    entries.claim(bytes);
  }

  #key(id: string, offset: number): Uint8Array {
    return numberKey(partitionOf(id, this.#partitions), offset);
  }

  /** By ascending offset, in pieces of which none is empty. */
  async *pieces(partition: number): AsyncGenerator<readonly ChangedOffset[]> {
    const entries = this.#entries;
    if (entries === null) return;
    for (let from = 0; ;) {
      const piece = await runInTurns(pieceFrom(entries, partition, from));
      const last = piece.at(-1);
      if (last === undefined) return;
      yield piece;
      from = last.offset + 1;
    }
  }

  async close(): Promise<void> {
    await this.#entries?.close();
  }
}

function* pieceFrom(
  entries: ChangeEntries,
  partition: number,
  from: number,
): Generator<void, ChangedOffset[]> {
  const found: Entry[] = [];
  let bytes = 0;
  // Left within this turn.
  for (const entry of entries.iterate({
    start: numberKey(partition, from),
    end: numberKey(partition + 1, 0),
  })) {
    found.push(entry);
    bytes += entry.value.length;
    if (bytes >= SOURCE_PIECE_BYTES || found.length === MOST_ENTRIES) break;
  }
  const piece: ChangedOffset[] = [];
  for (const { key, value } of found) {
    const origin = entries.origin(key);
    const offset = offsetIn(key, origin);
    const isRemoved = value.length === REMOVED.length;
    piece.push({ offset, record: isRemoved ? null : yield* decodeValue(value, offset, origin) });
    yield;
  }
  return piece;
}

function offsetIn(key: Uint8Array, origin: DataOrigin): number {
  if (key.length !== NUMBER_KEY_BYTES) throw new CorruptDataError(origin, 0, "not the key of a change");
  return readNumber(key);
}
