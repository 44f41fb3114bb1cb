import type { ReactNode } from "react";
import { excerpt } from "./excerpt.ts";
import type { Place } from "./run-search.ts";

interface Props {
  readonly text: string;
  readonly places: readonly Place[];
}

/** Part of a document with the places that match; as text, whatever it is. */
export function Highlighted({ text, places }: Props): ReactNode {
  return (
    <p className="document">
      {excerpt(text, places).map((piece, i) =>
        piece.matches ? <mark key={i}>{piece.text}</mark> : <span key={i}>{piece.text}</span>,
      )}
    </p>
  );
}
