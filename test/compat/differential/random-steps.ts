/**
 * Steps at random: all writes and reads over a few collections and ids, so that they meet. The values are small, for
 * the sake of collisions: equal metadata, equal distances, ids that come again.
 */
import { type Json, JsonFloat, type JsonObject } from "@sheaf/protocol";
import type { Dice } from "../../fuzz/dice.ts";
import type { KnownCollection, KnownState } from "./known-state.ts";
import { randomWhere, randomWhereDocument } from "./random-filters.ts";
import { KEYS, WORDS, randomScalar } from "./random-values.ts";
import { type Step, type Verb, nameOf } from "./step.ts";

const SLOTS = 4;
const IDS = Array.from({ length: 14 }, (_, i) => `id-${i}`);
const NOTHING: KnownCollection = { ids: new Set(), dimension: null, lists: false };

const VERB_WEIGHTS: readonly (readonly [number, Verb])[] = [
  [14, "add"],
  [12, "upsert"],
  [12, "update"],
  [7, "delete"],
  [24, "get"],
  [20, "query"],
  [4, "count"],
  [3, "create"],
  [4, "modify"],
  [1, "drop"],
  [4, "show"],
  [2, "list"],
  [1, "collections_count"],
];

export function randomStep(state: KnownState, dice: Dice): Step {
  const slot = dice.below(SLOTS);
  const known = state.get(slot);
  // Most steps on what is not there would say the same: nothing.
  const verb = known === undefined && dice.chance(0.9) ? "create" : dice.weighted(VERB_WEIGHTS);
  return { verb, slot, body: BODIES[verb]?.(slot, known ?? NOTHING, dice) ?? null };
}

type MakeBody = (slot: number, known: KnownCollection, dice: Dice) => JsonObject;

/** Of the verbs that have one. */
const BODIES: { readonly [verb in Verb]?: MakeBody } = {
  add: (_, known, dice) => writeBody("add", known, dice),
  upsert: (_, known, dice) => writeBody("upsert", known, dice),
  update: (_, known, dice) => writeBody("update", known, dice),
  delete: (_slot, _known, dice) => deleteBody(dice),
  get: (_slot, _known, dice) => getBody(dice),
  query: (_, known, dice) => queryBody(known, dice),
  create: (slot, _, dice) => createBody(slot, dice),
  modify: (slot, _, dice) => modifyBody(slot, dice),
};

function writeBody(verb: "add" | "upsert" | "update", known: KnownCollection, dice: Dice): JsonObject {
  const isUpdate = verb === "update";
  const ids = several(dice, 1, 5).map(() => dice.pick(IDS));
  const wrong = known.dimension !== null && dice.chance(0.03);
  const dimension = (known.dimension ?? dice.pick([2, 3])) + (wrong ? 1 : 0);
  const embeddings = ids.map(() => (isUpdate && dice.chance(0.3) ? null : randomVector(dimension, dice)));
  return present({
    ids,
    embeddings: isUpdate && dice.chance(0.5) ? undefined : embeddings,
    documents: column(ids, dice, () => randomDocument(dice)),
    metadatas: column(ids, dice, () => randomMetadata(dice, verb !== "add")),
    uris: dice.chance(0.8) ? undefined : column(ids, dice, () => `file:${dice.pick(WORDS)}`),
  });
}

/** A column that is left out, now and then, or has gaps; or, rarely, is too short. */
function column(ids: readonly string[], dice: Dice, make: () => Json): Json | undefined {
  if (dice.chance(0.25)) return undefined;
  const values = ids.map(() => (dice.chance(0.2) ? null : make()));
  return dice.chance(0.02) ? values.slice(1) : values;
}

function deleteBody(dice: Dice): JsonObject {
  const byIds = dice.chance(0.5);
  const byWhere = !byIds || dice.chance(0.2);
  return present({
    ids: byIds ? several(dice, 0, 3).map(() => dice.pick(IDS)) : undefined,
    where: byWhere && dice.chance(0.8) ? randomWhere(dice) : undefined,
    where_document: byWhere && dice.chance(0.3) ? randomWhereDocument(dice) : undefined,
    limit: dice.chance(0.1) ? dice.below(4) : undefined,
  });
}

function getBody(dice: Dice): JsonObject {
  return present({
    ...selection(dice),
    limit: dice.chance(0.3) ? dice.below(6) : undefined,
    offset: dice.chance(0.2) ? dice.below(5) : undefined,
    include: dice.chance(0.3) ? undefined : include(["documents", "metadatas", "uris", "embeddings"], dice),
  });
}

function queryBody(known: KnownCollection, dice: Dice): JsonObject {
  const wrong = known.dimension !== null && dice.chance(0.03);
  const dimension = (known.dimension ?? dice.pick([2, 3])) + (wrong ? 1 : 0);
  return present({
    ...selection(dice),
    query_embeddings: several(dice, 0, 3).map(() => randomVector(dimension, dice)),
    n_results: dice.chance(0.2) ? undefined : dice.pick([0, 1, 2, 3, 5, 50, 200_000]),
    include: ["distances", ...include(["documents", "metadatas", "uris", "embeddings"], dice)],
  });
}

function selection(dice: Dice): Readonly<Record<string, Json | undefined>> {
  return {
    ids: dice.chance(0.2) ? several(dice, 0, 6).map(() => dice.pick(IDS)) : undefined,
    where: dice.chance(0.5) ? randomWhere(dice) : undefined,
    where_document: dice.chance(0.25) ? randomWhereDocument(dice) : undefined,
  };
}

function createBody(slot: number, dice: Dice): JsonObject {
  const hnsw = present({
    space: dice.chance(0.6) ? dice.pick(["l2", "cosine", "ip"]) : undefined,
    ef_search: dice.chance(0.2) ? dice.pick([10, 50]) : undefined,
    resize_factor: dice.chance(0.2) ? dice.pick([1.5, 2, new JsonFloat(3)]) : undefined,
  });
  const config = { whole: new JsonFloat(2), integer: 2, list: [new JsonFloat(1), "x"] };
  const own: JsonObject = { type: "known", name: "not_installed_here", config };
  return present({
    name: nameOf(slot),
    configuration: dice.chance(0.6)
      ? present({ hnsw, embedding_function: dice.chance(0.3) ? own : undefined })
      : undefined,
    metadata: dice.chance(0.4) ? scalars(dice, false) : undefined,
    get_or_create: dice.chance(0.4) ? dice.chance(0.7) : undefined,
  });
}

function modifyBody(slot: number, dice: Dice): JsonObject {
  const hnsw = present({
    ef_search: dice.chance(0.5) ? dice.pick([10, 20, 30]) : undefined,
    resize_factor: dice.chance(0.4) ? dice.pick([1.25, 4, new JsonFloat(2)]) : undefined,
  });
  return present({
    new_metadata: dice.chance(0.5) ? scalars(dice, true) : undefined,
    new_name: dice.chance(0.2) ? dice.pick([nameOf(slot), `${nameOf(slot)}-renamed`, "a"]) : undefined,
    new_configuration: dice.chance(0.3) ? { hnsw } : undefined,
  });
}

function randomMetadata(dice: Dice, withNulls: boolean): Json {
  const entries = several(dice, 0, 3).map((): [string, Json] => {
    const value = dice.chance(0.15) ? randomList(dice) : randomScalar(dice);
    return [dice.pick(KEYS), withNulls && dice.chance(0.2) ? null : value];
  });
  return Object.fromEntries(entries);
}

function scalars(dice: Dice, withNulls: boolean): JsonObject {
  const entries = several(dice, 0, 3).map((): [string, Json] => [
    dice.pick(KEYS),
    withNulls && dice.chance(0.3) ? null : randomScalar(dice),
  ]);
  return Object.fromEntries(entries);
}

function randomList(dice: Dice): Json {
  const make = dice.pick<() => Json>([
    () => dice.below(4),
    () => dice.pick(WORDS),
    () => dice.chance(0.5),
    () => dice.below(4) + 0.5,
  ]);
  return several(dice, 1, 3).map(make);
}

function randomDocument(dice: Dice): string {
  if (dice.chance(0.05)) return "";
  return several(dice, 1, 4)
    .map(() => dice.pick(WORDS))
    .join(" ");
}

function randomVector(dimension: number, dice: Dice): Json {
  return Array.from({ length: dimension }, () => (dice.below(9) - 4) / 2 + (dice.chance(0.1) ? 0.1 : 0));
}

function include(choices: readonly string[], dice: Dice): readonly string[] {
  return choices.filter(() => dice.chance(0.5));
}

function several(dice: Dice, from: number, below: number): readonly null[] {
  return Array.from({ length: from + dice.below(below - from) }, () => null);
}

function present(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}
