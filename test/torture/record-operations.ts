/** Writes of records: single routes and conditional commits, on a writer's own collections and on shared ones. */
import { type Holding, type Records, withCollection, withShared } from "./holding.ts";
import type { Desk, Operation, OperationKind } from "./operation.ts";
import { COLLECTIONS } from "./routes.ts";
import {
  DIMENSION,
  TAGS,
  type RecordColumns,
  columnsOf,
  groupIds,
  isGrouped,
  makeRecord,
  recordId,
} from "./torture-record.ts";

const MOST_IDS = 60;
const LARGEST_BATCH = 20;
const GROUP_SHARE = 0.35;
const REFUSED_SHARE = 0.04;
const WEIGHTS = { add: 25, upsert: 25, update: 15, delete: 8, "delete where": 4, commit: 10 } as const;
type RecordKind = keyof typeof WEIGHTS;
type PutKind = Exclude<RecordKind, "delete" | "delete where" | "commit">;

/** Where a write goes. */
export interface Target {
  readonly id: string;
  readonly records: Records;
  readonly isShared: boolean;
  readonly after: (records: Records) => Holding;
}

/** One step of a write, and what it does to the log. */
interface Step {
  readonly operation: PutKind | "delete";
  readonly payload: { readonly ids: readonly string[] };
  readonly apply: (records: Records) => Records;
}

export function ownTarget({ holding }: Desk, name: string): Target {
  const collection = holding.collections.get(name);
  if (collection === undefined || collection.id === null) throw new Error(`${name} has no id to write to`);
  return {
    id: collection.id,
    records: collection.records,
    isShared: false,
    after: (records) => withCollection(holding, name, { ...collection, records }),
  };
}

export function sharedTarget({ holding }: Desk, name: string, id: string): Target {
  return {
    id,
    records: holding.shared.get(name) ?? new Map(),
    isShared: true,
    after: (records) => withShared(holding, name, records),
  };
}

export function recordOperation(desk: Desk, target: Target): Operation {
  const { choices } = desk;
  if (choices.chance(REFUSED_SHARE)) return refusedWrite(desk, target);
  if (target.isShared && choices.chance(GROUP_SHARE)) return groupOperation(desk, target);
  const kind = choices.weighted(WEIGHTS);
  if (kind === "delete where") return deleteWhere(desk, target);
  if (kind !== "commit") return single(target, step(desk, kind, someIds(desk)));
  const steps = [
    step(desk, "delete", someIds(desk)),
    step(desk, "upsert", someIds(desk)),
    step(desk, "update", someIds(desk)),
  ];
  return commit(target, steps);
}

/** All records of the group, with one nonce, or none of them. */
function groupOperation(desk: Desk, target: Target): Operation {
  const ids = groupIds(desk.owner);
  const kind = desk.choices.weighted({ upsert: 5, delete: 1, commit: 2 });
  if (kind !== "commit") return single(target, step(desk, kind, ids));
  return commit(target, [step(desk, "delete", ids), step(desk, "add", ids)]);
}

function someIds({ owner, choices }: Desk): string[] {
  const numbers = Array.from({ length: MOST_IDS }, (_, i) => i);
  return choices.some(numbers, 1 + choices.below(LARGEST_BATCH)).map((number) => recordId(owner, number));
}

function step(desk: Desk, operation: PutKind | "delete", ids: readonly string[]): Step {
  if (operation === "delete") {
    const gone = new Set(ids);
    const apply = (records: Records): Records => new Map([...records].filter(([id]) => !gone.has(id)));
    return { operation, payload: { ids }, apply };
  }
  const nonce = desk.nextNonce();
  const payload = columnsOf(ids.map((id) => makeRecord(id, nonce)));
  return { operation, payload, apply: (records) => put(records, operation, ids, nonce) };
}

/** `add` leaves what exists, `update` ignores what does not. */
function put(records: Records, kind: PutKind, ids: readonly string[], nonce: number): Records {
  const after = new Map(records);
  for (const id of ids) {
    const exists = records.has(id);
    if (kind === "upsert" || exists === (kind === "update")) after.set(id, nonce);
  }
  return after;
}

function single(target: Target, { operation, payload, apply }: Step): Operation {
  const after = apply(target.records);
  const deleted = target.records.size - after.size;
  return {
    ...request(target, operation, payload),
    after: () => target.after(after),
    ...(operation === "delete" ? { reply: { deleted } } : {}),
  };
}

function commit(target: Target, steps: readonly Step[]): Operation {
  const operations = steps.map(({ operation, payload }) => ({ operation, payload }));
  const after = steps.reduce((records, { apply }) => apply(records), target.records);
  return {
    ...request(target, "commit", { operations }),
    after: () => target.after(after),
    reply: { record_count: steps.reduce((sum, { payload }) => sum + payload.ids.length, 0) },
  };
}

function deleteWhere({ owner, choices }: Desk, target: Target): Operation {
  const tag = choices.one(TAGS);
  const left = [...target.records].filter(
    ([id, nonce]) => isGrouped(id) || makeRecord(id, nonce).metadata.tag !== tag,
  );
  return {
    ...request(target, "delete where", { where: { $and: [{ owner }, { tag }] } }),
    after: () => target.after(new Map(left)),
    reply: { deleted: target.records.size - left.length },
  };
}

/** The last vector of the batch is too long: nothing of the batch may be there. */
function refusedWrite(desk: Desk, target: Target): Operation {
  const nonce = desk.nextNonce();
  const columns = columnsOf(someIds(desk).map((id) => makeRecord(id, nonce)));
  const extra = `${desk.owner}/refused`;
  const bad: RecordColumns = {
    ...columns,
    ids: [...columns.ids, extra],
    embeddings: [...columns.embeddings, Array.from({ length: DIMENSION + 1 }, () => 1)],
    documents: [...columns.documents, extra],
    metadatas: [...columns.metadatas, makeRecord(extra, nonce).metadata],
  };
  return { ...request(target, "upsert", bad), refused: 400, after: () => desk.holding };
}

function request(
  { id }: Target,
  kind: OperationKind,
  json: unknown,
): Pick<Operation, "kind" | "request" | "refused"> {
  const route = kind === "commit" ? "conditional/commit" : kind.split(" ")[0];
  return { kind, request: { method: "POST", path: `${COLLECTIONS}/${id}/${route}`, json }, refused: null };
}
