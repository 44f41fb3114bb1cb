/** Records of several partitions as one sequence, by ascending offset, as a store takes them. */
import type { StoredRecord } from "../stored-record.ts";
import { recordBytes } from "../values/record-bytes.ts";

interface Part {
  /** The next pieces are on their way. */
  readonly records: AsyncGenerator<readonly StoredRecord[]>;
  coming: Promise<IteratorResult<readonly StoredRecord[]>>;
  held: readonly StoredRecord[];
}

/**
 * @param parts Each by ascending offset, in pieces of which none is empty.
 * @param bytes About as many are given together.
 */
export async function* mergedRecords(
  parts: readonly AsyncGenerator<readonly StoredRecord[]>[],
  bytes: number,
): AsyncGenerator<readonly StoredRecord[]> {
  let live = parts.map((records): Part => ({ records, coming: ask(records), held: [] }));
  let [merged, mergedBytes]: [StoredRecord[], number] = [[], 0];
  for (;;) {
    const left: Part[] = [];
    for (const part of live) if (part.held.length > 0 || (await hasMore(part))) left.push(part);
    live = left;
    if (live.length === 0) break;
    // Of each partition all up to there are here.
    const until = Math.min(...live.map(({ held }) => held.at(-1)!.offset));
    const taken: StoredRecord[] = [];
    for (const part of live) {
      const beyond = part.held.findIndex(({ offset }) => offset > until);
      const end = beyond === -1 ? part.held.length : beyond;
      for (const record of part.held.slice(0, end)) taken.push(record);
      part.held = part.held.slice(end);
    }
    for (const record of taken.sort((a, b) => a.offset - b.offset)) {
      merged.push(record);
      mergedBytes += recordBytes(record);
    }
    if (mergedBytes < bytes) continue;
    yield merged;
    [merged, mergedBytes] = [[], 0];
  }
  if (merged.length > 0) yield merged;
}

async function hasMore(part: Part): Promise<boolean> {
  const { done, value } = await part.coming;
  if (done === true) return false;
  part.held = value;
  part.coming = ask(part.records);
  return true;
}

/** Whoever waits for it hears what went wrong; until then it is not unhandled. */
function ask(
  records: AsyncGenerator<readonly StoredRecord[]>,
): Promise<IteratorResult<readonly StoredRecord[]>> {
  const coming = records.next();
  coming.catch(() => undefined);
  return coming;
}
