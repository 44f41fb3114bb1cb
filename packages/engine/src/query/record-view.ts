/**
 * The records behind an index snapshot. The store moves on while a read runs: a strict view refuses, with
 * `StaleSnapshot`, a record that is no longer the version the index showed, and the read starts over on a new
 * snapshot. A view that is not strict takes the record as it is now; it ends a read that writers keep overtaking.
 */
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import type { RecordReader } from "../index/record-index.ts";
import type { StoredRecord } from "../storage/stored-record.ts";

export class StaleSnapshot extends Error {
  override readonly name = "StaleSnapshot";
}

export class RecordView {
  readonly snapshot: IndexSnapshot;
  readonly #reader: RecordReader;
  readonly #strict: boolean;

  constructor(snapshot: IndexSnapshot, reader: RecordReader, options: { readonly strict: boolean }) {
    this.snapshot = snapshot;
    this.#reader = reader;
    this.#strict = options.strict;
  }

  /** `null`: gone, seen by a view that is not strict. */
  read(position: number): StoredRecord | null {
    const record = this.#reader.read(this.snapshot.offset(position));
    if (this.#strict && record?.sequence !== this.snapshot.sequence(position)) {
      throw new StaleSnapshot("a record changed after the snapshot");
    }
    return record;
  }
}
