/** What has moved between two searches. */
import type { Found } from "./run-search.ts";

type Ranked = Pick<Found, "hits">;

/** By id of what is found now: `up 2`, `down 1`, `same place`, or `new`. */
export function movesOf(before: Ranked, now: Ranked): ReadonlyMap<string, string> {
  return new Map(stepsOf(before, now).map(([id, step]) => [id, wordsOf(step)]));
}

/** `2 moved up, 1 down, 1 new, 1 gone.` */
export function summaryOf(before: Ranked, now: Ranked): string {
  const steps = stepsOf(before, now).map(([, step]) => step);
  const ids = new Set(now.hits.map(({ id }) => id));
  const count = (fits: (step: number | null) => boolean): number => steps.filter(fits).length;
  const parts = [
    [count((step) => step !== null && step > 0), "moved up"],
    [count((step) => step !== null && step < 0), "moved down"],
    [count((step) => step === 0), "in the same place"],
    [count((step) => step === null), "new"],
    [before.hits.filter(({ id }) => !ids.has(id)).length, "gone"],
  ] as const;
  const said = parts.flatMap(([number, words]) => (number === 0 ? [] : [`${number} ${words}`]));
  return said.length === 0 ? "Both find nothing." : `${said.join(", ")}.`;
}

/** Places up, negative for down; `null`: it was not found before. */
function stepsOf(before: Ranked, now: Ranked): readonly (readonly [string, number | null])[] {
  const places = new Map(before.hits.map(({ id }, place) => [id, place]));
  return now.hits.map(({ id }, place) => {
    const known = places.get(id);
    return [id, known === undefined ? null : known - place];
  });
}

function wordsOf(step: number | null): string {
  if (step === null) return "new";
  if (step === 0) return "same place";
  return step > 0 ? `up ${step}` : `down ${-step}`;
}
