import type { SparseEmbedding } from "@sheaf/client";
import type { ReactNode } from "react";

interface Props {
  readonly texts: readonly string[];
  readonly vectors: readonly SparseEmbedding[];
}

const MOST_TERMS = 50;

/** The terms of sparse vectors, the heaviest first. */
export function Terms({ texts, vectors }: Props): ReactNode {
  return texts.map((text, i) => (
    <section key={i}>
      <h3>{text}</h3>
      <div className="chips">
        {termsOf(vectors[i]).map(({ label, value }) => (
          <span key={label} className="chip">
            {label} · {value.toFixed(2)}
          </span>
        ))}
      </div>
    </section>
  ));
}

function termsOf(
  vector: SparseEmbedding | undefined,
): readonly { readonly label: string; readonly value: number }[] {
  const terms = (vector?.indices ?? []).map((index, i) => ({
    label: vector?.labels?.[i] ?? String(index),
    value: vector?.values[i] ?? 0,
  }));
  return terms.sort((a, b) => b.value - a.value).slice(0, MOST_TERMS);
}
