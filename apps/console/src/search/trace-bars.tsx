/** What each part adds to a score, as bars, and the terms that a sparse index has matched. */
import type { Trace } from "@sheaf/client";
import { Fragment, type ReactNode } from "react";
import { type Leaf, partsOf } from "./score-parts.ts";

interface Props {
  readonly trace: Trace;
  /** Of the longest bar of all records that are shown. */
  readonly most: number;
}

const WIDTH = 100;
const COLOURS = 4;

export function TraceBars({ trace, most }: Props): ReactNode {
  return (
    <div className="trace">
      {partsOf(trace).map(({ name, value, leaves }, i) => (
        <Fragment key={`${name} ${i}`}>
          <span>{name}</span>
          <svg
            viewBox={`0 0 ${WIDTH} 8`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${name} adds ${value}`}
          >
            <rect width={WIDTH} height="8" fill="var(--line)" />
            <rect
              width={most === 0 ? 0 : (WIDTH * Math.abs(value)) / most}
              height="8"
              fill={`var(--bar-${(i % COLOURS) + 1})`}
            />
          </svg>
          <span>{value.toPrecision(4)}</span>
          {leaves.map((leaf, j) => (
            <span key={j} className="terms">
              {describeLeaf(leaf)}
            </span>
          ))}
        </Fragment>
      ))}
    </div>
  );
}

function describeLeaf(leaf: Leaf): string {
  if (leaf.op !== "$knn")
    return leaf.from === "default" ? "has no value: the default counts" : `stored: ${String(leaf.stored)}`;
  if (leaf.from === "default") return `not among what ${leaf.key} found: the default counts`;
  const place = leaf.rank === undefined ? "" : `place ${leaf.rank + 1}`;
  const distance = leaf.distance === undefined ? "" : `, distance ${Number(leaf.distance).toPrecision(4)}`;
  const terms = (leaf.terms ?? []).map(({ token, term, query, record }) => {
    const weight = Number(query) * Number(record);
    return `${token ?? `#${term}`} ${weight.toPrecision(3)}`;
  });
  return `${place}${distance}${terms.length === 0 ? "" : `; ${terms.join(" · ")}`}`;
}
