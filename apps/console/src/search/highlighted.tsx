import type { ReactNode } from "react";
import type { Place } from "./run-search.ts";

const MOST_CHARACTERS = 1_200;

/** The beginning of a document with the places that match; as text, whatever it is. */
export function Highlighted({
  text,
  places,
}: {
  readonly text: string;
  readonly places: readonly Place[];
}): ReactNode {
  const shown = places.filter(({ end }) => end <= MOST_CHARACTERS);
  const pieces: ReactNode[] = [];
  let at = 0;
  for (const { start, end } of shown) {
    pieces.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>);
    at = end;
  }
  const isLong = text.length > MOST_CHARACTERS;
  return (
    <p className="document">
      {pieces}
      {text.slice(at, MOST_CHARACTERS)}
      {isLong ? "…" : ""}
    </p>
  );
}
