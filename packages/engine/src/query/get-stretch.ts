/**
 * One stretch of a `get`: as many matching records as make a few MiB, in insertion order. A cursor is the record
 * offset from which the next stretch goes on, so that writes between two stretches neither repeat nor skip a record.
 * How much of a `limit` is used up follows from the matches before the cursor.
 */
import {
  type GetRequest,
  type Metadata,
  type ResultRecord,
  isIntegerArray,
  isSparseVector,
} from "@sheaf/protocol";
import type { GetPage } from "../engine.ts";
import type { IndexSnapshot } from "../index/index-snapshot.ts";
import { type RowSet, SEGMENT_ROWS, listBits } from "../index/row-set.ts";
import { inInsertionOrder } from "./order.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";
import { fieldsOfInclude, selectRecord } from "./select.ts";

const STRETCH_BYTES = 4 * 1024 * 1024;
const STRETCH_RECORDS = 10_000;
/** A record without its contents: objects, id, punctuation. */
const RECORD_BYTES = 128;

export async function getStretch(
  rows: RowSet,
  request: GetRequest,
  cursor: number | null,
  { view, pace }: { readonly view: RecordView; readonly pace: Pace },
): Promise<GetPage> {
  const { snapshot } = view;
  const skip = cursor === null ? request.offset : 0;
  const left = remaining(rows, snapshot, request, cursor);
  // One more than a stretch can hold tells whether there is a next one.
  const count = Math.min(left, STRETCH_RECORDS + 1);
  const positions = inInsertionOrder(rows, snapshot, { from: cursor ?? 0, count: skip + count }).slice(skip);
  const fields = fieldsOfInclude(request.include);
  const records: ResultRecord[] = [];
  let bytes = 0;
  for (const [i, position] of positions.entries()) {
    if (i === STRETCH_RECORDS || bytes >= STRETCH_BYTES) return { records, next: snapshot.offset(position) };
    const record = selectRecord(position, fields, view);
    if (record !== null) {
      records.push(record);
      bytes += sizeOf(record);
    }
    if (i % 64 === 63) await pace.breathe();
  }
  return { records, next: null };
}

function remaining(
  rows: RowSet,
  snapshot: IndexSnapshot,
  request: GetRequest,
  cursor: number | null,
): number {
  if (request.limit === null) return Infinity;
  if (cursor === null) return request.limit;
  let before = 0;
  for (let segment = 0; segment < rows.segments; segment++) {
    for (const local of listBits(rows.segment(segment))) {
      if (snapshot.offset(segment * SEGMENT_ROWS + local) < cursor) before++;
    }
  }
  return Math.max(0, request.limit - Math.max(0, before - request.offset));
}

/** Roughly the memory a record takes; exactness does not matter. */
function sizeOf({ embedding, document, uri, metadata }: ResultRecord): number {
  return (
    RECORD_BYTES +
    (embedding?.byteLength ?? 0) +
    2 * ((document?.length ?? 0) + (uri?.length ?? 0)) +
    (metadata === undefined || metadata === null ? 0 : sizeOfMetadata(metadata))
  );
}

function sizeOfMetadata(metadata: Metadata): number {
  let bytes = 0;
  for (const [key, value] of metadata) {
    bytes += 2 * key.length + 16;
    if (typeof value === "string") bytes += 2 * value.length;
    else if (typeof value === "object" && isSparseVector(value)) bytes += 24 * value.indices.length;
    else if (isIntegerArray(value) || value instanceof Float64Array) bytes += 16 * value.length;
    else if (typeof value === "object") for (const item of value) bytes += 8 + 2 * String(item).length;
  }
  return bytes;
}
