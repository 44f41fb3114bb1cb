import type { ReactNode } from "react";
import { shortened } from "../parts/format.ts";

interface Props {
  readonly texts: readonly string[];
  readonly vectors: readonly (readonly number[])[];
}

const TITLE_CHARACTERS = 30;

/** The cosine similarity of every two texts. */
export function Similarities({ texts, vectors }: Props): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Similarities">
      <table className="matrix">
        <thead>
          <tr>
            <th scope="col">Cosine similarity</th>
            {texts.map((_, i) => (
              <th key={i} scope="col">
                {i + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {texts.map((text, i) => (
            <tr key={i}>
              <th scope="row">
                {i + 1}. {shortened(text, TITLE_CHARACTERS)}
              </th>
              {vectors.map((vector, j) => (
                <td key={j}>{cosine(vectors[i] ?? [], vector).toFixed(2)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
  const length = Math.sqrt(dot(a, a) * dot(b, b));
  return length === 0 ? 0 : dot(a, b) / length;
}
