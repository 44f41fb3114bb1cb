/**
 * Records that are written once, before the first writer, and never changed: they bring the large collection over the
 * 4,096 from which on vectors are indexed.
 */
import { type TortureRecord, makeRecord, recordId } from "./torture-record.ts";

export const BASE = "base";
const COUNT = 4_300;

export const BASE_RECORDS: readonly TortureRecord[] = Array.from({ length: COUNT }, (_, i) =>
  makeRecord(recordId(BASE, i), 0),
);
