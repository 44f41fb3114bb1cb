/**
 * Which record each row of a segment is of, in its file: the arrays of `PackedDocs` as they are, each read when it is
 * first asked for. Nothing is done for each row but to check that no number leads beyond the arrays.
 */
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { LazyPart } from "../../storage/files/lazy-part.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import type { SectionReader } from "../../storage/files/section-reader.ts";
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import type { DocLookup, DocParts, PackedDocs, PackedIds } from "../packed-docs.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import type { SegmentHeader } from "./segment-header.ts";
import type { Pause } from "./write-cells.ts";

const OFFSETS = "offsets";
const SEQUENCES = "sequences";
const IDS = "ids";
const LOOKUP = "lookup";

const PIECE_BYTES = 256 * 1024;

export async function writeDocs(writer: SectionWriter, { parts }: PackedDocs, pause: Pause): Promise<void> {
  const { offsets, sequences, ids, lookup } = parts;
  const sections: readonly (readonly [string, readonly ArrayBufferView[]])[] = [
    [OFFSETS, [offsets]],
    [SEQUENCES, [sequences]],
    [IDS, [ids.starts, ids.bytes]],
    [LOOKUP, [lookup.byOffset, lookup.byHash, lookup.high, lookup.low]],
  ];
  for (const [name, arrays] of sections) {
    await writer.stream(name);
    for (const { buffer, byteOffset, byteLength } of arrays) {
      for (let from = 0; from < byteLength; from += PIECE_BYTES) {
        const length = Math.min(PIECE_BYTES, byteLength - from);
        await writer.write(new Uint8Array(buffer, byteOffset + from, length));
        await pause();
      }
    }
  }
}

export class FileDocs implements DocParts {
  readonly minOffset: number;
  readonly seed: number;
  readonly #offsets: LazyPart<Float64Array>;
  readonly #sequences: LazyPart<Float64Array>;
  readonly #ids: LazyPart<PackedIds>;
  readonly #lookup: LazyPart<DocLookup>;

  /** Reads nothing yet. Throws `SegmentDamaged` where a section does not have the length that follows from the header. */
  constructor(
    reader: SectionReader,
    { capacity, rows, minOffset, seed }: Pick<SegmentHeader, "capacity" | "rows" | "minOffset" | "seed">,
    memory: SegmentMemory,
  ) {
    this.minOffset = minOffset;
    this.seed = seed;
    const part = <T>(name: string, bytes: number | null, parse: (fields: PartFields) => T): LazyPart<T> =>
      lazyStream(reader, { name, bytes, memory, parse });
    this.#offsets = part(OFFSETS, 8 * capacity, (fields) => fields.f64(capacity));
    this.#sequences = part(SEQUENCES, 8 * capacity, (fields) => fields.f64(capacity));
    this.#ids = part(IDS, null, (fields) => parseIds(fields, capacity));
    this.#lookup = part(LOOKUP, 16 * rows, (fields) => parseLookup(fields, { capacity, rows }));
  }

  get offsets(): Float64Array {
    return this.#offsets.get();
  }

  get sequences(): Float64Array {
    return this.#sequences.get();
  }

  get ids(): PackedIds {
    return this.#ids.get();
  }

  get lookup(): DocLookup {
    return this.#lookup.get();
  }

  /** They are in memory already. */
  adopt({ offsets, sequences, ids, lookup }: DocParts): void {
    this.#offsets.adopt(offsets);
    this.#sequences.adopt(sequences);
    this.#ids.adopt(ids);
    this.#lookup.adopt(lookup);
  }

  /** So that all of it can be asked for, also where files are late. */
  async prepare({ lookup }: { readonly lookup: boolean }, options: ReadOptions): Promise<void> {
    for (const part of [this.#offsets, this.#sequences, this.#ids, ...(lookup ? [this.#lookup] : [])])
      await part.prepare(options);
  }
}

interface StreamPart<T> {
  readonly name: string;
  /** `null`: any length. */
  readonly bytes: number | null;
  readonly memory: SegmentMemory;
  readonly parse: (fields: PartFields) => T;
}

function lazyStream<T>(reader: SectionReader, { name, bytes, memory, parse }: StreamPart<T>): LazyPart<T> {
  const section = reader.stream(name);
  const { length } = section;
  const fail = (reason: string): SegmentDamaged => new SegmentDamaged(reader.name, name, reason);
  if (bytes !== null && length !== bytes) throw fail(`${length} bytes instead of ${bytes}`);
  return new LazyPart(memory, {
    bytes: length,
    tryRead: () => {
      const into = Buffer.allocUnsafeSlow(length);
      return section.tryRead(into, 0) ? into : null;
    },
    read: async (options) => {
      const into = Buffer.allocUnsafeSlow(length);
      await section.read(into, 0, options);
      return into;
    },
    parse: (read) => parse(new PartFields(read, fail)),
  });
}

function parseIds(fields: PartFields, capacity: number): PackedIds {
  const starts = fields.u32(capacity + 1);
  const bytes = fields.rest();
  fields.requireAscending(starts, bytes.length);
  return { starts, bytes };
}

function parseLookup(
  fields: PartFields,
  { capacity, rows }: { readonly capacity: number; readonly rows: number },
): DocLookup {
  const byOffset = fields.u32(rows);
  const byHash = fields.u32(rows);
  for (const docIds of [byOffset, byHash])
    for (let i = 0; i < rows; i++)
      if (docIds[i]! >= capacity) throw fields.fail("a docId is beyond the last one");
  return { byOffset, byHash, high: fields.u32(rows), low: fields.u32(rows) };
}
