/**
 * What a segment has of its lists and of its blocks of 32 slots: the section `lists`, read when a file is opened.
 * `storage-format.md` has the layout.
 */
import type { SectionWriter } from "../../storage/files/section-writer.ts";
import { countBits } from "../bits.ts";
import type { DenseSegment } from "../dense/dense-segment.ts";
import { widthsOf } from "../dense/segment-layout.ts";
import type { PartFields } from "../../storage/files/part-fields.ts";
import type { SegmentHeader } from "./segment-header.ts";

export const LISTS = "lists";

export interface ListTables {
  readonly biases: Float64Array;
  readonly centroidSquares: Float64Array;
  readonly spreads: Float64Array;
  readonly centroidSteps: Float32Array;
  readonly lengths: Float32Array;
  readonly losses: Float32Array;
  readonly origin: Float32Array | null;
  readonly firstSlots: Uint32Array;
  readonly slots: Uint32Array;
  readonly placed: Uint32Array;
  readonly uncoded: Uint32Array | null;
  readonly listOfBlock: Uint16Array;
  readonly centroids: Buffer;
}

export async function writeLists(
  writer: SectionWriter,
  segment: DenseSegment,
  uncoded: Uint32Array | null,
): Promise<void> {
  const { lists, layout, shape } = segment;
  const { memory, at, width } = layout;
  const count = lists.slots.length;
  const fields: readonly (ArrayBufferView | null)[] = [
    ...[lists.biases, lists.centroidSquares, lists.spreads],
    ...[memory.f32(at.centroidSteps, count), segment.lengths, segment.losses, shape.origin],
    ...[lists.firstSlots, lists.slots, segment.placed, uncoded, segment.listOfBlock],
    memory.u8(at.centroids, count * width),
  ];
  await writer.stream(LISTS);
  for (const field of fields) if (field !== null) await writer.write(bytesOf(field));
}

/** Views of the bytes. Throws `SegmentDamaged`. */
export function parseLists(fields: PartFields, header: SegmentHeader): ListTables {
  const { lists, capacity, dimension } = header;
  const blocks = capacity / 32;
  const tables: ListTables = {
    biases: fields.f64(lists),
    centroidSquares: fields.f64(lists),
    spreads: fields.f64(lists),
    centroidSteps: fields.f32(lists),
    lengths: fields.f32(blocks),
    losses: fields.f32(blocks),
    origin: header.hasOrigin ? fields.f32(dimension) : null,
    firstSlots: fields.u32(lists),
    slots: fields.u32(lists),
    placed: fields.u32(blocks),
    uncoded: header.hasUncoded ? fields.u32(blocks) : null,
    listOfBlock: fields.u16(blocks),
    centroids: fields.bytes(lists * widthsOf(dimension).width),
  };
  fields.end();
  requireInOrder(fields, tables, header);
  return tables;
}

/** Into a new segment. */
export function fillLists(segment: DenseSegment, tables: ListTables): void {
  const { memory, at } = segment.layout;
  for (const name of ["biases", "centroidSquares", "spreads", "firstSlots", "slots"] as const)
    segment.lists[name].set(tables[name]);
  for (const name of ["lengths", "losses", "placed", "listOfBlock"] as const) segment[name].set(tables[name]);
  memory.f32(at.centroidSteps, tables.centroidSteps.length).set(tables.centroidSteps);
  memory.u8(at.centroids, tables.centroids.length).set(tables.centroids);
  segment.used = segment.capacity;
}

/** Kernels trust where the lists are. */
function requireInOrder(fields: PartFields, tables: ListTables, { capacity, rows }: SegmentHeader): void {
  const { firstSlots, slots, listOfBlock } = tables;
  let next = 0;
  for (let list = 0; list < slots.length; list++) {
    const end = next + slots[list]!;
    const isOne = firstSlots[list] === next && slots[list]! % 32 === 0 && end <= capacity;
    if (!isOne) throw fields.fail(`list ${list} is not behind the one before it`);
    for (let block = next / 32; block < end / 32; block++)
      if (listOfBlock[block] !== list) throw fields.fail(`block ${block} is not of list ${list}`);
    next = end;
  }
  if (next !== capacity) throw fields.fail(`lists end at ${next} instead of ${capacity}`);
  const placed = countBits(tables.placed);
  if (placed !== rows) throw fields.fail(`${placed} rows instead of ${rows}`);
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
