/** What a lane asks of the server, one thing after the other, and what it must have afterwards. */
import type { Choices } from "../choices.ts";
import { type LaneCollection, type LaneState, type Records, withCollection } from "./lane-state.ts";

const LANE_OPERATIONS = ["upsert", "grow", "delete", "create", "fork", "change", "drop"] as const;
export type LaneOperationKind = (typeof LANE_OPERATIONS)[number];

export interface LaneOperation {
  readonly kind: LaneOperationKind;
  readonly method: "POST" | "PUT" | "DELETE";
  /** Below the collections of the lane's database. */
  readonly path: string;
  readonly json: object | null;
  /** `reply` is `null` where the answer got lost. */
  readonly after: (reply: { readonly id?: string } | null) => LaneState;
}

const WEIGHTS = { upsert: 14, delete: 4, create: 1, fork: 1, change: 2, drop: 1 } as const;
/** A collection that outgrows it leaves its shared environment: that is the operation `grow`. */
export const SHARED_RECORDS = 20;
const NAMES = ["one", "two", "three", "four", "five"];
const IDS = 60;
const LARGEST_BATCH = 12;
const RENAME_SHARE = 0.5;
const ALL_SHARE = 0.1;

/** `next`: a value that no write had. */
export function laneOperation(state: LaneState, choices: Choices, next: () => number): LaneOperation {
  const taken = [...state.keys()];
  const free = NAMES.filter((name) => !state.has(name));
  const kind = taken.length === 0 ? "create" : choices.weighted(WEIGHTS);
  if (kind === "create" && free.length > 0) return create(state, choices.one(free), next());
  const name = choices.one(taken);
  const at = state.get(name)!;
  if (kind === "drop") return drop(state, name);
  if (kind === "change") return change({ state, name, at, free }, choices, next());
  if (kind === "fork" && free.length > 0) return fork({ state, name, at, free }, choices);
  if (kind === "delete" && at.records.size > 0) return remove({ state, name, at, free }, choices);
  return upsert({ state, name, at, free }, choices, next);
}

interface Place {
  readonly state: LaneState;
  readonly name: string;
  readonly at: LaneCollection;
  /** Names that no collection has. */
  readonly free: readonly string[];
}

function create(state: LaneState, name: string, mark: number): LaneOperation {
  const json = { name, metadata: { mark } };
  const made = { mark, records: new Map<string, number>() };
  return {
    ...{ kind: "create", method: "POST", path: "", json },
    after: (reply) => withCollection(state, name, { ...made, id: reply?.id ?? null }),
  };
}

function drop(state: LaneState, name: string): LaneOperation {
  const after = (): LaneState => withCollection(state, name, null);
  return { kind: "drop", method: "DELETE", path: `/${name}`, json: null, after };
}

function change({ state, name, at, free }: Place, choices: Choices, mark: number): LaneOperation {
  const to = free.length > 0 && choices.chance(RENAME_SHARE) ? choices.one(free) : name;
  const json = { new_metadata: { mark }, ...(to === name ? {} : { new_name: to }) };
  const after = (): LaneState => withCollection(withCollection(state, name, null), to, { ...at, mark });
  return { kind: "change", method: "PUT", path: `/${at.id}`, json, after };
}

function fork({ state, at, free }: Place, choices: Choices): LaneOperation {
  const to = choices.one(free);
  return {
    ...{ kind: "fork", method: "POST", path: `/${at.id}/fork`, json: { new_name: to } },
    after: (reply) => withCollection(state, to, { ...at, id: reply?.id ?? null }),
  };
}

function remove({ state, name, at }: Place, choices: Choices): LaneOperation {
  const held = [...at.records.keys()];
  const ids = choices.chance(ALL_SHARE) ? held : choices.some(held, 1 + choices.below(LARGEST_BATCH));
  const records: Records = new Map([...at.records].filter(([id]) => !ids.includes(id)));
  const after = (): LaneState => withCollection(state, name, { ...at, records });
  return { kind: "delete", method: "POST", path: `/${at.id}/delete`, json: { ids }, after };
}

function upsert({ state, name, at }: Place, choices: Choices, next: () => number): LaneOperation {
  const count = 1 + choices.below(LARGEST_BATCH);
  const ids = [...new Set(Array.from({ length: count }, () => `r${choices.below(IDS)}`))];
  const values = ids.map(() => next());
  const json = {
    ids,
    embeddings: values.map((value) => [Math.sin(value), Math.cos(value), value % 7]),
    documents: values.map((value) => `value ${value}`),
    metadatas: values.map((value) => ({ value })),
  };
  const records = new Map([...at.records, ...ids.map((id, i) => [id, values[i]!] as const)]);
  const after = (): LaneState => withCollection(state, name, { ...at, records });
  const kind = at.records.size <= SHARED_RECORDS && records.size > SHARED_RECORDS ? "grow" : "upsert";
  return { kind, method: "POST", path: `/${at.id}/upsert`, json, after };
}
