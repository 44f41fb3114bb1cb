/** What the generator knows of the collections it has made: enough to make steps that mean something. */
import type { JsonObject } from "@sheaf/protocol";
import type { Answer } from "./contestant.ts";
import { type Step, memberOf } from "./step.ts";

export interface KnownCollection {
  readonly ids: ReadonlySet<string>;
  /** `null` until something with a vector was written. */
  readonly dimension: number | null;
  /** Some record has, or had, a list in its metadata. */
  readonly lists: boolean;
}

/** Slot -> its collection; nothing where there is none. */
export type KnownState = ReadonlyMap<number, KnownCollection>;

const EMPTY: KnownCollection = { ids: new Set(), dimension: null, lists: false };

/** @param ids Of the slot's records now. */
export function stateAfter(
  state: KnownState,
  step: Step,
  answer: Answer,
  ids: readonly string[],
): KnownState {
  if (answer.status >= 300) return state;
  const { slot, verb } = step;
  const next = new Map(state);
  const before = state.get(slot) ?? EMPTY;
  // The collection that was there, or, where that one was renamed, a new one.
  if (verb === "create") next.set(slot, { ...before, ids: new Set(ids), dimension: shownDimension(answer) });
  else if (verb === "drop") next.delete(slot);
  else
    next.set(slot, {
      ids: new Set(ids),
      dimension: before.dimension ?? dimensionOf(step),
      lists: before.lists || hasLists(step),
    });
  return next;
}

function shownDimension({ body }: Answer): number | null {
  return (body as { readonly dimension: number | null }).dimension;
}

function dimensionOf(step: Step): number | null {
  const embeddings = memberOf(step, "embeddings");
  const first: unknown = Array.isArray(embeddings) ? embeddings.find((vector) => vector !== null) : null;
  return Array.isArray(first) ? first.length : null;
}

/** Whether the step writes lists as metadata. */
export function hasLists(step: Step): boolean {
  const metadatas = memberOf(step, "metadatas");
  if (!Array.isArray(metadatas)) return false;
  return metadatas.some((metadata) => Object.values((metadata ?? {}) as JsonObject).some(Array.isArray));
}
