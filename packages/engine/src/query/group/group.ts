/**
 * The group stage: of each group of ranked records the best k by the aggregate's keys stay, and what stays is in the
 * order of the ranking. A missing value is the smallest one; ties within a group keep the order of the ranking.
 *
 * A value may have a megabyte, and a record sixteen of them. So each is read once and not kept; what is held of a record is
 * bounded, and the pace is told of every byte.
 */
import type { GroupBy } from "@sheaf/protocol";
import {
  type KeptValue,
  type Member,
  MemberOrder,
  SCORE_KEY,
  type ValueReading,
  aggregateKeys,
  keptValue,
  readBytes,
} from "./member-order.ts";
import { groupIdentity, identityPart } from "./group-identity.ts";
import type { Scored } from "../score-order.ts";

/** A metadata key that is read of each record. */
interface Field {
  readonly key: string;
  readonly groups: boolean;
  /** Place among the fields of the order; -1: it is none. */
  readonly orders: number;
}

/** The first `wanted` of what stays. */
export async function groupRecords(
  ranked: Scored,
  groupBy: GroupBy,
  wanted: number,
  reading: ValueReading,
): Promise<Scored> {
  const places = stopsAtWanted(ranked, groupBy)
    ? await firstOfGroups(ranked, groupBy, wanted, reading)
    : await bestOfGroups(ranked, groupBy, reading);
  return {
    positions: Int32Array.from(places, (place) => ranked.positions[place]!),
    scores: Float32Array.from(places, (place) => ranked.scores[place]!),
  };
}

/** The best of a group are those that the ranking has first, so nothing behind the last that is wanted is looked at. */
export function stopsAtWanted(ranked: Scored, { aggregate: { operator, keys } }: GroupBy): boolean {
  return ranked.isReordered !== true && operator === "$min_k" && keys.every((key) => key === SCORE_KEY);
}

/** Stops at the last that is wanted: a record's metadata is cold memory, and most of the ranking is behind it. */
async function firstOfGroups(
  ranked: Scored,
  { keys, aggregate }: GroupBy,
  wanted: number,
  reading: ValueReading,
): Promise<number[]> {
  const sizes = new Map<string, number>();
  const kept: number[] = [];
  await readMembers(ranked, fieldsOf(keys, []), reading, (group, place) => {
    const size = (sizes.get(group) ?? 0) + 1;
    sizes.set(group, size);
    if (size <= aggregate.k) kept.push(place);
    return kept.length < wanted;
  });
  return kept;
}

async function bestOfGroups(
  ranked: Scored,
  { keys, aggregate }: GroupBy,
  reading: ValueReading,
): Promise<Int32Array> {
  const order = new MemberOrder(aggregateKeys(aggregate), reading);
  const groups = new Map<string, Member[]>();
  await readMembers(ranked, fieldsOf(keys, order.fields), reading, (group, place, values) => {
    const member = { place, position: ranked.positions[place]!, score: ranked.scores[place]!, values };
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [member]);
    else members.push(member);
    return true;
  });
  const kept: number[] = [];
  for (const members of groups.values()) {
    const best = members.length <= aggregate.k ? members : await order.best(members, aggregate.k);
    for (const { place } of best) kept.push(place);
  }
  return Int32Array.from(kept).sort();
}

/** Calls `take` for one record after the other, while it says so. */
async function readMembers(
  { positions }: Scored,
  fields: readonly Field[],
  reading: ValueReading,
  take: (group: string, place: number, values: readonly KeptValue[]) => boolean,
): Promise<void> {
  const { view, pace } = reading;
  for (let place = 0; place < positions.length; place++) {
    const position = positions[place]!;
    const values: KeptValue[] = [];
    let parts = "";
    for (const { key, groups, orders } of fields) {
      const value = view.metadataValue(position, key);
      if (groups) parts += identityPart(value);
      if (orders !== -1) values[orders] = keptValue(value);
      if (pace.spend(readBytes(value, position, reading))) await pace.breathe();
    }
    if (!take(groupIdentity(parts), place, values)) return;
  }
}

/** In the order of `keys`, then of `orderKeys`; each once. */
function fieldsOf(keys: readonly string[], orderKeys: readonly string[]): readonly Field[] {
  return [...new Set([...keys, ...orderKeys])].map((key) => ({
    key,
    groups: keys.includes(key),
    orders: orderKeys.indexOf(key),
  }));
}
