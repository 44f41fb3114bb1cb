/** The page of a read that `order_by` orders: the records up to its last are found in one pass, and no others are held. */
import { LIMITS, type OrderBy, invalid } from "@sheaf/protocol";
import type { RowSet } from "../index/row-set.ts";
import {
  type KeptValue,
  type Member,
  MemberOrder,
  type Reading,
  type ValueReading,
  keptValue,
  readBytes,
} from "./group/member-order.ts";
import { TurnLock } from "../storage/turn-lock.ts";
import { insertionOrder } from "./insertion-order.ts";

/** Values that any number of reads may hold, of some 200 bytes at most; of larger sorts there is one at a time. */
const LARGE_VALUES = 10_000;

const largeSorts = new TurnLock();

/** Of a page, both counted from the first record. */
interface Bounds {
  readonly offset: number;
  readonly end: number;
}

/** Throws 400 where too many records are before the end of the page. */
export function sortedPage(
  rows: RowSet,
  orderBy: OrderBy,
  page: Bounds,
  reading: Reading,
): Promise<Int32Array> {
  const { snapshot } = reading.view;
  const inOrder = { positions: insertionOrder(rows, snapshot), count: snapshot.countOf(rows) };
  return sortedRecords(inOrder, orderBy, page, reading);
}

/** @param records In insertion order. */
export async function sortedRecords(
  records: { readonly positions: Iterable<number>; readonly count: number },
  { keys, path }: OrderBy,
  { offset, end }: Bounds,
  reading: ValueReading,
): Promise<Int32Array> {
  const wanted = Math.min(end, records.count);
  if (wanted > LIMITS.orderedResults) {
    throw invalid(
      path,
      `the page ends at record ${wanted}, and only the first ${LIMITS.orderedResults} can be ordered; narrow it with \`where\` or \`limit\``,
    );
  }
  if (offset >= wanted) return new Int32Array(0);
  const order = new MemberOrder(
    keys.map((key) => ({ ...key, missingLast: true })),
    reading,
  );
  const isLarge = wanted * order.fields.length > LARGE_VALUES;
  const leave = isLarge ? await largeSorts.enter(reading.pace.tenant) : null;
  try {
    const members = membersIn(records.positions, order.fields, reading);
    const best = await order.sorted(members, wanted);
    return Int32Array.from(best.slice(offset), ({ position }) => position);
  } finally {
    leave?.();
  }
}

/** Ties are broken by their places. */
function* membersIn(
  positions: Iterable<number>,
  fields: readonly string[],
  reading: ValueReading,
): Generator<Member, void> {
  let place = 0;
  for (const position of positions) {
    const values: KeptValue[] = [];
    for (const field of fields) {
      const value = reading.view.metadataValue(position, field);
      values.push(keptValue(value));
      reading.pace.spend(readBytes(value, position, reading));
    }
    yield { place: place++, position, score: 0, values };
  }
}
