/**
 * Where stored values are checked and their vectors compared: the bytes are copied into kernel memory once, then
 * CRC-32C and the distance to a query are one call of a kernel each. A query looks at some ten values of 2 KB, for a
 * quarter of what it takes in TypeScript.
 */
import { LIMITS, type Space } from "@sheaf/protocol";
import { blockBytes, setFields } from "./argument-block.ts";
import { CHECKSUM, COMPARE } from "./argument-layouts.generated.ts";
import { prepare, preparedDistance } from "./distance.ts";
import { KernelMemory, allocationBytes } from "./kernel-memory.ts";

/** CRC-32C: Castagnoli, reflected. */
const POLYNOMIAL = 0x82f63b78;
const TABLES = 16;
const TABLE_WORDS = 256;
const TABLE_BYTES = TABLES * TABLE_WORDS * 4;
/** A chunk of an index file fits. */
const VALUE_BYTES = 64 * 1024;
const VECTOR_BYTES = LIMITS.dimensions * 4;
/** As `assembly/compare.ts` knows them. */
const SPACE_NUMBERS: Readonly<Record<Space, number>> = { l2: 0, ip: 1, cosine: 2 };

export class ValueMemory {
  /** Bytes that can be loaded. */
  readonly capacity = VALUE_BYTES;
  /** The loaded bytes; may also be written to directly. */
  readonly bytes: Uint8Array;
  /** The same as words. */
  readonly words: Uint32Array;
  readonly #memory = new KernelMemory(
    [TABLE_BYTES, VALUE_BYTES, VECTOR_BYTES, VECTOR_BYTES, blockBytes(CHECKSUM), blockBytes(COMPARE)].reduce(
      (sum, bytes) => sum + allocationBytes(bytes),
      0,
    ),
  );
  readonly #checksum = this.#memory.block(CHECKSUM);
  readonly #compare = this.#memory.block(COMPARE);
  readonly #address = this.#memory.allocate(VALUE_BYTES);
  readonly #floats = this.#memory.f32(this.#address, VALUE_BYTES / 4);
  readonly #query: Float32Array;
  /** Whose query is loaded. */
  #loaded: QueryDistance | null = null;

  constructor() {
    const tables = this.#memory.allocate(TABLE_BYTES);
    const query = this.#memory.allocate(VECTOR_BYTES);
    fillTables(this.#memory.u32(tables, TABLES * TABLE_WORDS));
    this.bytes = this.#memory.u8(this.#address, VALUE_BYTES);
    this.words = this.#memory.u32(this.#address, VALUE_BYTES / 4);
    this.#query = this.#memory.f32(query, VECTOR_BYTES / 4);
    setFields(this.#checksum, { tables });
    setFields(this.#compare, { query, row: this.#memory.allocate(VECTOR_BYTES) });
  }

  load(bytes: Uint8Array): void {
    this.bytes.set(bytes);
  }

  /** Continues a register over the loaded bytes [start, end). */
  checksum(register: number, start: number, end: number): number {
    this.#checksum.bytes = this.#address + start;
    this.#checksum.length = end - start;
    this.#checksum.crc = register;
    this.#memory.kernels.crc32c(this.#checksum.pointer);
    return this.#checksum.crc;
  }

  /** To the vector that begins at a loaded byte. */
  distance(query: QueryDistance, at: number): number {
    if (this.#loaded !== query) this.#loadQuery(query);
    this.#compare.vector = this.#address + at;
    this.#memory.kernels.compareVector(this.#compare.pointer);
    return this.#compare.distance;
  }

  /** To a vector as it was given. */
  distanceTo(query: QueryDistance, vector: Float32Array): number {
    this.#floats.set(vector);
    return this.distance(query, 0);
  }

  #loadQuery(query: QueryDistance): void {
    const { space, prepared } = query;
    const { length } = prepared;
    this.#query.set(prepared);
    this.#query.fill(0, length, Math.ceil(length / 16) * 16);
    this.#compare.dimension = length;
    this.#compare.space = SPACE_NUMBERS[space];
    this.#loaded = query;
  }
}

let shared: ValueMemory | undefined;

/** The one of this thread: what is loaded there is gone when anybody loads the next. */
export function valueMemory(): ValueMemory {
  return (shared ??= new ValueMemory());
}

/** The distances of one query, as `distance.ts` defines them. */
export class QueryDistance {
  readonly space: Space;
  /** The query as `prepare` leaves it. Not to be changed. */
  readonly prepared: Float32Array;

  constructor(space: Space, prepared: Float32Array) {
    this.space = space;
    this.prepared = prepared;
  }

  /** To a vector as it was given. */
  to(vector: Float32Array): number {
    if (vector.length === this.prepared.length) return valueMemory().distanceTo(this, vector);
    return this.toPrepared(prepare(this.space, vector));
  }

  /** To a vector as `prepare` leaves it. */
  toPrepared(vector: Float32Array): number {
    return preparedDistance(this.space, this.prepared, vector);
  }
}

/** What the kernel takes: table k advances a byte through k further zero bytes. */
export function fillTables(tables: Uint32Array): void {
  for (let value = 0; value < TABLE_WORDS; value++) {
    let crc = value;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[value] = crc;
  }
  for (let at = TABLE_WORDS; at < tables.length; at++) {
    const crc = tables[at - TABLE_WORDS]!;
    tables[at] = (crc >>> 8) ^ tables[crc & 0xff]!;
  }
}
