/** The records that a search found: why each is where it is, and what has moved since the search that is kept. */
import type { WhyNot } from "@sheaf/client";
import type { ReactNode } from "react";
import { number } from "../parts/format.ts";
import { Empty } from "../parts/states.tsx";
import { Highlighted } from "./highlighted.tsx";
import type { Found, Hit } from "./run-search.ts";
import { partsOf } from "./score-parts.ts";
import { TraceBars } from "./trace-bars.tsx";

interface Props {
  readonly found: Found;
  /** To compare with; `null`: none is kept. */
  readonly kept: Found | null;
}

export function Results({ found, kept }: Props): ReactNode {
  const { hits, plan, milliseconds } = found;
  const most = hits
    .flatMap(({ trace }) => (trace === null ? [] : partsOf(trace)))
    .reduce((longest, { value }) => Math.max(longest, Math.abs(value)), 0);
  if (hits.length === 0)
    return <Empty>Nothing was found. A filter may be too narrow, or the text may need another index.</Empty>;
  return (
    <>
      <p className="hint" role="status">
        {number(hits.length)} results in {Math.round(milliseconds)} ms
        {plan !== null && `; ${number(plan.rows)} of ${number(plan.records)} records pass the filter`}
      </p>
      <ol className="hits">
        {hits.map((hit, place) => (
          <li key={hit.id} className="hit">
            <HitText hit={hit} moved={kept === null ? null : movedFrom(kept, hit.id, place)} />
            {hit.trace !== null && <TraceBars trace={hit.trace} most={most} />}
          </li>
        ))}
      </ol>
    </>
  );
}

function HitText({ hit, moved }: { readonly hit: Hit; readonly moved: string | null }): ReactNode {
  const { id, score, document, highlights, metadata } = hit;
  return (
    <>
      <header>
        <strong>{id}</strong>
        {score !== null && <span className="hint">score {score.toPrecision(5)}</span>}
        {moved !== null && <span className="chip">{moved}</span>}
      </header>
      {document !== null && <Highlighted text={document} places={highlights} />}
      {metadata !== null && Object.keys(metadata).length > 0 && (
        <p className="hint">
          {Object.entries(metadata)
            .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
            .join(" · ")}
        </p>
      )}
    </>
  );
}

function movedFrom({ hits }: Found, id: string, place: number): string {
  const before = hits.findIndex((hit) => hit.id === id);
  if (before === -1) return "new";
  if (before === place) return "same place";
  return before > place ? `up ${before - place}` : `down ${place - before}`;
}

const REASONS: Readonly<Record<WhyNot["reason"], string>> = {
  absent: "The collection has no such record.",
  filtered: "It does not pass the filter.",
  outside_leaf: "No part of the search has found it.",
  diversified_out: "mmr kept others.",
  grouped_out: "Others of its group were kept.",
  below_page: "It is not on this page.",
};

export function WhyNotList({ reasons }: { readonly reasons: readonly WhyNot[] }): ReactNode {
  return (
    <ul>
      {reasons.map(({ id, reason, path, rank }) => (
        <li key={id}>
          <strong>{id}</strong>: {REASONS[reason]} {path !== undefined && <code>{path}</code>}{" "}
          {rank !== undefined && `Its place is ${number(rank + 1)}.`}
        </li>
      ))}
    </ul>
  );
}
