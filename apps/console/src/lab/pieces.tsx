import type { TextTokens } from "@sheaf/client";
import type { ReactNode } from "react";
import { number } from "../parts/format.ts";

interface Props {
  readonly texts: readonly string[];
  readonly tokens: readonly TextTokens[];
}

/** What the model read of each text: its tokens, as the vocabulary has them, and how many there are. */
export function Pieces({ texts, tokens }: Props): ReactNode {
  return texts.map((text, i) => {
    const { count, pieces } = tokens[i] ?? { count: 0, pieces: [] };
    return (
      <section key={i} aria-label={`Tokens of text ${i + 1}`}>
        <h3>
          {i + 1}. {text} <span className="hint">{count === 1 ? "1 token" : `${number(count)} tokens`}</span>
        </h3>
        <p className="pieces">
          {pieces.map((piece, j) => (
            <code key={j}>{piece}</code>
          ))}
          {count > pieces.length && <span className="hint">and {number(count - pieces.length)} more</span>}
        </p>
      </section>
    );
  });
}
