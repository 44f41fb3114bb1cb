/**
 * Where Sheaf and the existing server are known to answer differently, each with its reason. `AVOIDED` steps are never
 * sent: the fault they meet damages the other server's state, and everything after would differ. `EXPLAINED` differences
 * are counted and passed over; what is `TOLERATED` is no difference. Whatever else differs is a failure.
 */
import { type Json, JsonFloat } from "@sheaf/protocol";
import type { Answer } from "./contestant.ts";
import { type KnownCollection, type KnownState } from "./known-state.ts";
import { type Step, idsOf, memberOf } from "./step.ts";

interface Avoided {
  readonly name: string;
  readonly reason: string;
  avoids(step: Step, state: KnownState): boolean;
}

export interface Difference {
  readonly step: Step;
  readonly theirs: Answer;
  readonly ours: Answer;
}

interface Explained {
  readonly name: string;
  readonly reason: string;
  explains(difference: Difference): boolean;
}

export const TOLERATED = {
  arithmetic: {
    value: 1e-5,
    reason:
      "sums of f32 have an order of their own on each server, and vectors of cosine come back from being normalised",
  },
  learnedKeys: {
    reason:
      "Sheaf lists the metadata keys that records have had; there those of ignored and of replaced records too",
  },
  emptyMetadata: {
    reason: "metadata without keys reads back as null from get, and as {} or null from query",
  },
} as const;

export const AVOIDED: readonly Avoided[] = [
  {
    name: "a vector for a record that does not exist",
    reason: "its update leaves the vector behind, which a later add of the id shows, and fixes the dimension",
    avoids: (step, state) =>
      step.verb === "update" &&
      memberOf(step, "embeddings") !== null &&
      (idsOf(step) ?? []).some((id) => !knownOf(step, state).ids.has(id)),
  },
  {
    name: "a refused write before the first vector",
    reason: "it fixes the dimension all the same",
    avoids: (step, state) =>
      isWrite(step) && knownOf(step, state).dimension === null && hasUnevenColumns(step),
  },
  {
    name: "a fraction in a filter",
    reason: "it is cut off before it meets integers: $gte 1.5 finds 1",
    avoids: ({ body }) => hasFraction(body?.["where"] ?? null),
  },
  {
    name: "a float in $contains",
    reason: "membership compares exact types there, and values here: [1] contains 1.0",
    avoids: ({ body }) => operandsOf(body?.["where"] ?? null, /^\$(?:not_)?contains$/u).some(isWholeFloat),
  },
  {
    name: "an integer in $in",
    reason: "it does not find a stored 2.0 there, though $eq does",
    avoids: ({ body }) =>
      operandsOf(body?.["where"] ?? null, /^\$n?in$/u).some((list) =>
        Object.values(list ?? {}).some((value) => typeof value === "number"),
      ),
  },
  {
    name: "dropping a collection with lists in its metadata",
    reason: "the lists appear on records of other collections later",
    avoids: (step, state) => step.verb === "drop" && knownOf(step, state).lists,
  },
];

export const EXPLAINED: readonly Explained[] = [
  {
    name: "a wrong body for a collection that does not exist is 404 there",
    reason: "both refuse it; Sheaf reads the body first",
    explains: ({ theirs, ours }) => theirs.status === 404 && (ours.status === 400 || ours.status === 422),
  },
  {
    name: "a rename onto a name that is taken is 500 there",
    reason: "a fault; Sheaf says 409",
    explains: ({ step, theirs, ours }) =>
      step.verb === "modify" && theirs.status === 500 && ours.status === 409,
  },
  {
    name: "a query for ids that do not exist is 500 there",
    reason: "a fault; Sheaf gives empty rows",
    explains: ({ step, theirs, ours }) =>
      step.verb === "query" && idsOf(step) !== null && theirs.status === 500 && ours.status === 200,
  },
  {
    name: "a query for no neighbours drops the connection there, once something was deleted",
    reason: "a fault; Sheaf gives empty rows",
    explains: ({ step, theirs, ours }) =>
      step.verb === "query" &&
      memberOf(step, "n_results") === 0 &&
      theirs.status === 0 &&
      ours.status === 200,
  },
  {
    name: "delete counts the ids that it was given there",
    reason: "Sheaf counts the records that existed",
    explains: ({ step, theirs }) =>
      step.verb === "delete" &&
      step.body?.["where"] === undefined &&
      deletedOf(theirs) === idsOf(step)?.length,
  },
];

const NOTHING: KnownCollection = { ids: new Set(), dimension: null, lists: false };

function knownOf({ slot }: Step, state: KnownState): KnownCollection {
  return state.get(slot) ?? NOTHING;
}

function hasFraction(json: Json): boolean {
  if (typeof json === "number") return !Number.isInteger(json);
  if (json instanceof JsonFloat) return false;
  return typeof json === "object" && json !== null && Object.values(json).some(hasFraction);
}

/** What stands behind operators, anywhere in a filter. */
function operandsOf(filter: Json, operator: RegExp): readonly Json[] {
  if (typeof filter !== "object" || filter === null || filter instanceof JsonFloat) return [];
  return Object.entries(filter).flatMap(([name, value]: [string, Json]) =>
    operator.test(name) ? [value] : operandsOf(value, operator),
  );
}

function isWholeFloat(json: Json): boolean {
  return json instanceof JsonFloat;
}

function isWrite({ verb }: Step): boolean {
  return verb === "add" || verb === "upsert" || verb === "update";
}

function deletedOf({ body }: Answer): number | undefined {
  return (body as { readonly deleted?: number }).deleted;
}

function hasUnevenColumns(step: Step): boolean {
  const columns = ["embeddings", "documents", "metadatas", "uris"].map((name) => memberOf(step, name));
  const count = idsOf(step)?.length;
  return columns.some((column) => Array.isArray(column) && column.length !== count);
}
