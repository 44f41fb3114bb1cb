/** Sends one search and puts together what its reply says of each record. */
import type { SearchPlan, Trace, WhyNot } from "@sheaf/client";
import type { JsonObject } from "../parts/json-text.ts";
import { type Asked, ask, plainFields } from "../session/ask-collection.ts";

export interface Hit {
  readonly id: string;
  readonly document: string | null;
  readonly metadata: JsonObject | null;
  readonly score: number | null;
  readonly trace: Trace | null;
  readonly highlights: readonly Place[];
}

export interface Place {
  readonly start: number;
  readonly end: number;
}

export interface Found {
  readonly hits: readonly Hit[];
  readonly plan: SearchPlan | null;
  readonly whyNot: readonly WhyNot[];
  readonly milliseconds: number;
}

interface Reply {
  readonly ids: readonly (readonly string[])[];
  readonly documents: readonly (readonly (string | null)[] | null)[];
  readonly metadatas: readonly (readonly (JsonObject | null)[] | null)[];
  readonly scores: readonly (readonly (number | null)[] | null)[];
  readonly traces: readonly (readonly (Trace | null)[] | null)[];
  readonly plans: readonly (SearchPlan | null)[];
  readonly why_not?: readonly (readonly WhyNot[] | null)[];
  readonly highlights?: readonly (readonly (readonly Place[] | null)[] | null)[];
}

/** What the user sees of a record, whatever the dictionary selects. */
const SHOWN = { select: { keys: ["#document", "#metadata", "#score"] }, highlight: true };

/** @param whyNot Ids of records of which it is to be said why they are not found. */
export async function runSearch(
  asked: Asked,
  dictionary: JsonObject,
  whyNot: readonly string[],
  signal: AbortSignal,
): Promise<Found> {
  const explain = whyNot.length === 0 ? true : { ids: whyNot };
  const search = { ...dictionary, ...SHOWN, explain };
  const startedAt = performance.now();
  const reply = await ask<Reply>(asked, "/search", { searches: [search] }, signal);
  const milliseconds = performance.now() - startedAt;
  const hits = (reply.ids[0] ?? []).map((id, i) => ({
    id,
    document: reply.documents[0]?.[i] ?? null,
    metadata: plainFields(reply.metadatas[0]?.[i] ?? null),
    score: reply.scores[0]?.[i] ?? null,
    trace: reply.traces[0]?.[i] ?? null,
    highlights: reply.highlights?.[0]?.[i] ?? [],
  }));
  return { hits, plan: reply.plans[0] ?? null, whyNot: reply.why_not?.[0] ?? [], milliseconds };
}
