/** The metadata of a block's rows in a file: some rows at a time are read when one of them is asked for. */
import {
  INTEGER_WIDTHS,
  type IntegerWidth,
  type Metadata,
  type MetadataValue,
  emptyIntegerArray,
} from "@sheaf/protocol";
import type { PagedSection } from "../../storage/files/paged-section.ts";
import type { SegmentMemory } from "../../storage/files/index-memory.ts";
import { LazyPart } from "../../storage/files/lazy-part.ts";
import type { ReadOptions } from "../../storage/files/segment-files.ts";
import { CellReader } from "../columns/cell-reader.ts";
import type { NumberArray } from "../columns/cell-writer.ts";
import type { RowMetadata } from "../columns/row-metadata.ts";
import { pagedSource } from "./paged-source.ts";
import { PackedTexts } from "../columns/packed-texts.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import { type CellPlaces, FLOATS, GROUP_ROWS } from "./write-cells.ts";

/** Of a larger group only the row that is asked for is read. */
const LARGE_GROUP_BYTES = 256 * 1024;

export interface FileRowsOptions extends CellPlaces {
  /** Of the block. */
  readonly end: number;
  /** How many there are. */
  readonly rows: number;
  readonly memory: SegmentMemory;
}

/** What is read before any row. */
interface Head {
  /** Where the groups of rows end, behind the beginning of the cells. */
  readonly groups: Float64Array;
  /** Where rows end in their group. */
  readonly ends: Uint32Array;
  readonly keys: PackedTexts;
  readonly reader: CellReader;
  /** How many long arrays there are. */
  readonly arrays: number;
  arrayPart(number: number): LazyPart<NumberArray>;
}

export class FileRows implements RowMetadata {
  readonly length: number;
  readonly #section: PagedSection;
  readonly #place: FileRowsOptions;
  readonly #head: LazyPart<Head>;
  readonly #groups: (LazyPart<Buffer> | undefined)[] = [];
  /** Long ones, by number. */
  readonly #arrays = new Map<number, LazyPart<NumberArray>>();

  constructor(section: PagedSection, place: FileRowsOptions) {
    this.length = place.rows;
    this.#section = section;
    this.#place = place;
    this.#head = new LazyPart(
      place.memory,
      pagedSource(section, [place.head, place.data], (bytes) => this.#parseHead(bytes)),
    );
  }

  get totalBytes(): number {
    return this.#place.end - this.#place.data;
  }

  get(row: number): Metadata | null {
    return this.#moveTo(row)?.row() ?? null;
  }

  *getInSteps(row: number): Generator<void, Metadata | null> {
    const reader = this.#moveTo(row);
    return reader === null ? null : yield* reader.rowInSteps();
  }

  value(row: number, key: string): MetadataValue | undefined {
    return this.#moveTo(row)?.value(key, this.#head.get().keys.find(key));
  }

  bytes(row: number): number {
    const { ends } = this.#head.get();
    return ends[row]! - startIn(ends, row);
  }

  /** So that the rows can be read at once. */
  async prepare(rows: Iterable<number>, options: ReadOptions): Promise<void> {
    await this.#head.prepare(options);
    for (const group of new Set(Array.from(rows, groupOf))) await this.#group(group).prepare(options);
    for (let number = 0; number < this.#head.get().arrays; number++)
      await this.#head.get().arrayPart(number).prepare(options);
  }

  /** `null`: the row has none. */
  #moveTo(row: number): CellReader | null {
    const { ends, reader } = this.#head.get();
    const start = startIn(ends, row);
    const end = ends[row]!;
    if (start === end) return null;
    const group = this.#group(groupOf(row));
    if (group.isLoaded || group.bytes <= LARGE_GROUP_BYTES) reader.moveTo(group.get(), start, end);
    else {
      const from = this.#groupStart(groupOf(row));
      const bytes = this.#section.tryRead(from + start, from + end);
      if (bytes === null) reader.moveTo(group.get(), start, end);
      else reader.moveTo(bytes, 0, end - start);
    }
    return reader;
  }

  #group(group: number): LazyPart<Buffer> {
    return (this.#groups[group] ??= new LazyPart(
      this.#place.memory,
      pagedSource(
        this.#section,
        [this.#groupStart(group), this.#place.data + this.#head.get().groups[group]!],
        (bytes) => bytes,
      ),
    ));
  }

  #groupStart(group: number): number {
    return this.#place.data + (group === 0 ? 0 : this.#head.get().groups[group - 1]!);
  }

  #parseHead(bytes: Buffer): Head {
    const section = this.#section;
    const fields = new PartFields(bytes, (reason) =>
      section.damaged(`block at ${this.#place.head}: ${reason}`),
    );
    const [rows, arrayCount, keyCount, keyBytes, textCount, textBytes] = fields.u32(6);
    if (rows !== this.length) throw fields.fail(`${rows} rows instead of ${this.length}`);
    const groups = fields.f64(Math.ceil(rows / GROUP_ROWS));
    const arrayEnds = fields.f64(arrayCount!);
    const ends = fields.u32(rows);
    const forms = fields.u32(arrayCount!);
    const [keyEnds, textEnds] = [fields.u32(keyCount!), fields.u32(textCount!)];
    const keys = new PackedTexts({ ends: keyEnds, bytes: fields.bytes(keyBytes!) });
    const texts = new PackedTexts({ ends: textEnds, bytes: fields.bytes(textBytes!) });
    fields.end();
    fields.requireAscending(keyEnds, keyBytes!);
    fields.requireAscending(textEnds, textBytes!);
    const cellBytes = groups.at(-1) ?? 0;
    fields.requireAscending(groups, cellBytes);
    fields.requireAscending(arrayEnds, arrayEnds.at(-1) ?? 0);
    requireRows(fields, groups, ends);
    const end = this.#place.data + (arrayEnds.at(-1) ?? cellBytes);
    if (end > this.#place.end || (arrayEnds[0] ?? cellBytes) < cellBytes)
      throw fields.fail("cells and arrays go on beyond the block");
    const arrayPart = (number: number): LazyPart<NumberArray> => {
      const start = number === 0 ? cellBytes : arrayEnds[number - 1]!;
      return this.#arrayPart(number, [start, arrayEnds[number]!], forms[number]!);
    };
    const reader = new CellReader({
      keys,
      texts,
      arrayAt: (number) => (number < forms.length ? arrayPart(number).get() : undefined),
      damaged: (reason) => fields.fail(reason),
    });
    return { groups, ends, keys, reader, arrays: forms.length, arrayPart };
  }

  #arrayPart(number: number, [start, end]: readonly [number, number], form: number): LazyPart<NumberArray> {
    const known = this.#arrays.get(number);
    if (known !== undefined) return known;
    const { data, memory } = this.#place;
    const source = pagedSource(this.#section, [data + start, data + end], (bytes) =>
      this.#array(bytes, form),
    );
    const part = new LazyPart(memory, source);
    this.#arrays.set(number, part);
    return part;
  }

  #array(bytes: Buffer, form: number): NumberArray {
    const width = form === FLOATS ? 8 : form;
    if (bytes.length % width !== 0 || !INTEGER_WIDTHS.includes(width as IntegerWidth))
      throw this.#section.damaged(`an array of ${bytes.length} bytes with elements of ${width}`);
    const count = bytes.length / width;
    const array = form === FLOATS ? new Float64Array(count) : emptyIntegerArray(width as IntegerWidth, count);
    new Uint8Array(array.buffer).set(bytes);
    return array;
  }
}

/** Rows end in their group where the group ends. */
function requireRows(fields: PartFields, groups: Float64Array, ends: Uint32Array): void {
  for (const [group, end] of groups.entries()) {
    const start = group === 0 ? 0 : groups[group - 1]!;
    const rows = ends.subarray(group * GROUP_ROWS, (group + 1) * GROUP_ROWS);
    fields.requireAscending(rows, end - start);
  }
}

function groupOf(row: number): number {
  return Math.floor(row / GROUP_ROWS);
}

function startIn(ends: Uint32Array, row: number): number {
  return row % GROUP_ROWS === 0 ? 0 : ends[row - 1]!;
}
