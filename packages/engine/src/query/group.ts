/**
 * The group stage: of each group of ranked records the best k by the aggregate's keys stay, and what stays is in the
 * order of the ranking. A missing value is the smallest one; ties within a group keep the order of the ranking.
 */
import type { GroupBy, MetadataValue } from "@sheaf/protocol";
import { compareTotal } from "../index/total-order.ts";
import { compareMetadata, metadataIdentity } from "./metadata-order.ts";
import type { Scored } from "./order.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";

const RECORDS_PER_BREATH = 1_024;
const SCORE_KEY = "#score";

type Aggregate = GroupBy["aggregate"];

/** Where the records are read, and how long the thread is held. */
interface Reading {
  readonly view: RecordView;
  readonly pace: Pace;
}

interface Member {
  /** In the ranking. */
  readonly place: number;
  /** Values of the aggregate's keys; an entry of `#score` is not used. */
  readonly values: readonly (MetadataValue | undefined)[];
}

/** The first `wanted` of what stays. */
export async function groupRecords(
  ranked: Scored,
  groupBy: GroupBy,
  wanted: number,
  reading: Reading,
): Promise<Scored> {
  const places = isByRank(groupBy.aggregate)
    ? await firstOfGroups(ranked, groupBy, wanted, reading)
    : await bestOfGroups(ranked, groupBy, reading);
  return {
    positions: Int32Array.from(places, (place) => ranked.positions[place]!),
    scores: Float32Array.from(places, (place) => ranked.scores[place]!),
  };
}

/** The best of a group are those that the ranking has first. */
function isByRank({ operator, keys }: Aggregate): boolean {
  return operator === "$min_k" && keys.length === 1 && keys[0] === SCORE_KEY;
}

/** Stops at the last that is wanted: a record's metadata is cold memory, and most of the ranking is behind it. */
async function firstOfGroups(
  { positions }: Scored,
  { keys, aggregate }: GroupBy,
  wanted: number,
  { view, pace }: Reading,
): Promise<number[]> {
  const sizes = new Map<string, number>();
  const kept: number[] = [];
  for (let place = 0; place < positions.length && kept.length < wanted; place++) {
    const group = groupOf(positions[place]!, keys, view);
    const size = (sizes.get(group) ?? 0) + 1;
    sizes.set(group, size);
    if (size <= aggregate.k) kept.push(place);
    if (place % RECORDS_PER_BREATH === RECORDS_PER_BREATH - 1) await pace.breathe();
  }
  return kept;
}

async function bestOfGroups(
  { positions, scores }: Scored,
  { keys, aggregate }: GroupBy,
  { view, pace }: Reading,
): Promise<number[]> {
  const groups = new Map<string, Member[]>();
  for (let place = 0; place < positions.length; place++) {
    const position = positions[place]!;
    const group = groupOf(position, keys, view);
    const values = aggregate.keys.map((key) => view.metadataValue(position, key));
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [{ place, values }]);
    else members.push({ place, values });
    if (place % RECORDS_PER_BREATH === RECORDS_PER_BREATH - 1) await pace.breathe();
  }
  const direction = aggregate.operator === "$min_k" ? 1 : -1;
  const kept: number[] = [];
  for (const members of groups.values()) {
    members.sort((a, b) => direction * compareMembers(a, b, { keys: aggregate.keys, scores }));
    for (const { place } of members.slice(0, aggregate.k)) kept.push(place);
  }
  return kept.sort((a, b) => a - b);
}

function groupOf(position: number, keys: readonly string[], view: RecordView): string {
  return keys.map((key) => identityOf(view.metadataValue(position, key))).join("");
}

function identityOf(value: MetadataValue | undefined): string {
  const identity = value === undefined ? "" : metadataIdentity(value);
  return `${identity.length}/${identity}`;
}

function compareMembers(
  a: Member,
  b: Member,
  { keys, scores }: { readonly keys: readonly string[]; readonly scores: Float32Array },
): number {
  for (let i = 0; i < keys.length; i++) {
    const order =
      keys[i] === SCORE_KEY
        ? compareTotal(scores[a.place]!, scores[b.place]!)
        : compareMetadata(a.values[i], b.values[i]);
    if (order !== 0) return order;
  }
  return 0;
}
