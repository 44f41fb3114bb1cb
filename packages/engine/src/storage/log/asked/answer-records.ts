/** A partition that tells another server what it has, at the state that its view is of: that stays the same meanwhile. */
import { parentOfId } from "@sheaf/protocol";
import type { StoreView } from "../../record-store.ts";
import { encodeRecord } from "../../values/value-codec.ts";
import { ValueWriter } from "../../values/value-writer.ts";
import type { LogView } from "../log-view.ts";
import type { RecordsAnswer, RecordsQuestion } from "./records-question.ts";

/** Of the records in one answer, but for the first. */
const MOST_BYTES = 4 * 1024 * 1024;
const IDS_AT_ONCE = 256;

type AnsweringView = StoreView & Pick<LogView, "storedBytes">;

/** @param batch That the view has come to. Throws `DataAbsent` where its records are not here yet. */
export function* answerRecords(
  view: AnsweringView,
  batch: string,
  question: RecordsQuestion,
): Generator<void, RecordsAnswer> {
  const state = { ...view.head, batch };
  const nothing = { offsets: new Float64Array(), sizes: new Float64Array(), values: new Uint8Array() };
  const answer = { state, completeFrom: view.completeFrom, ...nothing, ids: [], removed: [] };
  if (question.kind === "facts") return { ...answer, ...(yield* factsOf(view, question)) };
  if (question.kind === "offsets") return { ...answer, ids: yield* idsOf(view, question.offsets) };
  const { parents, removedAfter } = question;
  const asked = new Set(parents);
  const parentOf = (id: string): string | null => {
    const parent = parentOfId(id);
    return parent !== null && asked.has(parent) ? parent : null;
  };
  const ids: string[] = [];
  for (const parent of parents) for (const id of yield* chunkIdsOf(view, parent)) ids.push(id);
  return { ...answer, ids, removed: removedOf(view, removedAfter, parentOf) };
}

function* idsOf(view: AnsweringView, offsets: Float64Array): Generator<void, readonly string[]> {
  const ids: string[] = [];
  for (const offset of offsets) {
    const record = view.read(offset);
    if (record !== null) ids.push(record.id);
    yield;
  }
  return ids;
}

function* factsOf(
  view: AnsweringView,
  { ids, bare, removedAfter }: Extract<RecordsQuestion, { kind: "facts" }>,
): Generator<void, Pick<RecordsAnswer, "offsets" | "sizes" | "values" | "removed">> {
  const offsets: number[] = [];
  const sizes: number[] = [];
  const values: Uint8Array[] = [];
  const absent = new Set<string>();
  const writer = new ValueWriter();
  let bytes = 0;
  for (const id of ids) {
    const record = bare ? null : view.find(id);
    const offset = bare ? view.offsetOf(id) : (record?.offset ?? null);
    let size = 0;
    if (record !== null) {
      const value = encodeRecord(writer, record);
      size = value.length;
      if (bytes > 0 && bytes + size > MOST_BYTES) break;
      bytes += size;
      values.push(new Uint8Array(value));
    } else if (offset !== null) size = view.storedBytes(offset);
    else absent.add(id);
    offsets.push(offset ?? -1);
    sizes.push(size);
    yield;
  }
  const removed = removedOf(view, absent.size === 0 ? null : removedAfter, (id) =>
    absent.has(id) ? id : null,
  );
  return {
    offsets: Float64Array.from(offsets),
    sizes: Float64Array.from(sizes),
    values: new Uint8Array(Buffer.concat(values)),
    removed,
  };
}

/** @param of What a removed id counts for; `null`: nothing that was asked for. */
function removedOf(
  view: StoreView,
  sequence: number | null,
  of: (id: string) => string | null,
): readonly string[] {
  if (sequence === null) return [];
  const removed = new Set<string>();
  for (const id of view.removedAfter(sequence)) {
    const counted = of(id);
    if (counted !== null) removed.add(counted);
  }
  return [...removed];
}

function* chunkIdsOf(view: StoreView, parent: string): Generator<void, readonly string[]> {
  const ids: string[] = [];
  for (let after: string | null = null; ;) {
    const page: readonly string[] = view.idsUnder(`${parent}#`, after, IDS_AT_ONCE);
    for (const id of page) if (parentOfId(id) === parent) ids.push(id);
    if (page.length < IDS_AT_ONCE) return ids;
    after = page.at(-1)!;
    yield;
  }
}
