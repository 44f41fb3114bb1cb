/**
 * The group stage: of each group of ranked records the best k by the aggregate's keys stay, and what stays is ordered
 * by score again. A missing value is the smallest one; ties within a group keep the order of the ranking.
 */
import type { GroupBy, MetadataValue } from "@sheaf/protocol";
import { compareTotal } from "../index/total-order.ts";
import { compareMetadata, metadataIdentity } from "./metadata-order.ts";
import { type Scored, sortScored } from "./order.ts";
import type { Pace } from "./pace.ts";
import type { RecordView } from "./record-view.ts";

const RECORDS_PER_BREATH = 1_024;
const SCORE_KEY = "#score";

interface Member {
  readonly position: number;
  readonly score: number;
  /** Values of the aggregate's keys; an entry of `#score` is not used. */
  readonly values: readonly (MetadataValue | undefined)[];
}

export async function groupRecords(
  ranked: Scored,
  { keys, aggregate }: GroupBy,
  view: RecordView,
  pace: Pace,
): Promise<Scored> {
  const groups = new Map<string, Member[]>();
  for (let i = 0; i < ranked.positions.length; i++) {
    const position = ranked.positions[i]!;
    const valueOf = (key: string): MetadataValue | undefined => view.metadataValue(position, key);
    const identity = keys.map((key) => identityOf(valueOf(key))).join("");
    const member = {
      position,
      score: ranked.scores[i]!,
      values: aggregate.keys.map(valueOf),
    };
    const group = groups.get(identity);
    if (group === undefined) groups.set(identity, [member]);
    else group.push(member);
    if (i % RECORDS_PER_BREATH === RECORDS_PER_BREATH - 1) await pace.breathe();
  }
  const direction = aggregate.operator === "$min_k" ? 1 : -1;
  const kept: Member[] = [];
  for (const group of groups.values()) {
    group.sort((a, b) => direction * compareMembers(a, b, aggregate.keys));
    for (const member of group.slice(0, aggregate.k)) kept.push(member);
  }
  const scored = {
    positions: Int32Array.from(kept, ({ position }) => position),
    scores: Float32Array.from(kept, ({ score }) => score),
  };
  return sortScored(scored, view.snapshot);
}

function identityOf(value: MetadataValue | undefined): string {
  const identity = value === undefined ? "" : metadataIdentity(value);
  return `${identity.length}/${identity}`;
}

function compareMembers(a: Member, b: Member, keys: readonly string[]): number {
  for (let i = 0; i < keys.length; i++) {
    const order =
      keys[i] === SCORE_KEY ? compareTotal(a.score, b.score) : compareMetadata(a.values[i], b.values[i]);
    if (order !== 0) return order;
  }
  return 0;
}
