/** The part of a document that is shown with a hit. */
import type { Place } from "./run-search.ts";

const MOST_CHARACTERS = 600;
/** In front of the first match, where that lies further behind. */
const LEAD_CHARACTERS = 200;

export interface Piece {
  readonly text: string;
  readonly matches: boolean;
}

/** The beginning, or what is around the first match where the beginning has none, in pieces; `…` where something is left out. */
export function excerpt(text: string, places: readonly Place[]): readonly Piece[] {
  const first = places[0];
  const start =
    first === undefined || first.end <= MOST_CHARACTERS ? 0 : Math.max(0, first.start - LEAD_CHARACTERS);
  const end = Math.min(text.length, start + MOST_CHARACTERS);
  const pieces: Piece[] = [{ text: start > 0 ? "…" : "", matches: false }];
  let at = start;
  for (const place of places) {
    if (place.start < at || place.end > end) continue;
    pieces.push({ text: text.slice(at, place.start), matches: false });
    pieces.push({ text: text.slice(place.start, place.end), matches: true });
    at = place.end;
  }
  pieces.push(
    { text: text.slice(at, end), matches: false },
    { text: end < text.length ? "…" : "", matches: false },
  );
  return pieces.filter((piece) => piece.text !== "");
}
