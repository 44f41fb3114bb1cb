/** The records that a search found: why each is where it is, and what has moved since the search that is kept. */
import type { WhyNot } from "@sheaf/client";
import type { ReactNode } from "react";
import { number } from "../parts/format.ts";
import { Empty } from "../parts/states.tsx";
import { type Place, usePlace, writePlace } from "../route/place.ts";
import { Highlighted } from "./highlighted.tsx";
import type { Found, Hit } from "./run-search.ts";
import { partsOf } from "./score-parts.ts";
import { TraceBars } from "./trace-bars.tsx";

interface Props {
  readonly found: Found;
  /** What to say of each record that a kept search is compared with, by id; `null`: none is. */
  readonly moves: ReadonlyMap<string, string> | null;
}

export function Results({ found, moves }: Props): ReactNode {
  const { hits, plan, milliseconds } = found;
  const most = hits
    .flatMap(({ trace }) => (trace === null ? [] : partsOf(trace)))
    .reduce((longest, { value }) => Math.max(longest, Math.abs(value)), 0);
  if (hits.length === 0)
    return <Empty>Nothing was found. A filter may be too narrow, or the text may need another index.</Empty>;
  return (
    <>
      <p className="hint" role="status">
        {hits.length === 1 ? "1 result" : `${number(hits.length)} results`} in {Math.round(milliseconds)} ms
        {hits.some(({ score }) => score !== null) && ". Lower scores are better"}
        {plan !== null && `; ${number(plan.rows)} of ${number(plan.records)} records pass the filter`}
      </p>
      <ol className="hits">
        {hits.map((hit) => (
          <li key={hit.id} className="hit">
            <HitText hit={hit} moved={moves?.get(hit.id) ?? null} />
            {hit.trace !== null && <TraceBars trace={hit.trace} most={most} />}
          </li>
        ))}
      </ol>
    </>
  );
}

/** Of the record, in the data browser. */
function recordPlace(place: Place, id: string): string {
  return writePlace({ ...place, view: "data", params: { record: id } });
}

function HitText({ hit, moved }: { readonly hit: Hit; readonly moved: string | null }): ReactNode {
  const { id, score, document, highlights, metadata } = hit;
  const place = usePlace();
  return (
    <>
      <header>
        <a href={recordPlace(place, id)}>
          <strong>{id}</strong>
        </a>
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

const REASONS: Readonly<Record<WhyNot["reason"], string>> = {
  absent: "The collection has no such record.",
  filtered: "It does not pass the filter.",
  outside_leaf: "No part of the search has found it: more candidates would reach further.",
  diversified_out: "mmr kept others.",
  grouped_out: "Others of its group were kept.",
  below_page: "It is not on this page.",
};

interface WhyNotProps {
  readonly reasons: readonly WhyNot[];
  /** That were asked about. */
  readonly ids: readonly string[];
  readonly hits: readonly Hit[];
}

export function WhyNotList({ reasons, ids, hits }: WhyNotProps): ReactNode {
  const found = ids.flatMap((id) => {
    const place = hits.findIndex((hit) => hit.id === id);
    return place === -1 ? [] : [{ id, place }];
  });
  return (
    <ul>
      {found.map(({ id, place }) => (
        <li key={id}>
          <strong>{id}</strong>: It is result {place + 1}.
        </li>
      ))}
      {reasons.map(({ id, reason, path, rank }) => (
        <li key={id}>
          <strong>{id}</strong>: {REASONS[reason]} {path !== undefined && <code>{path}</code>}{" "}
          {rank !== undefined && `Its place is ${number(rank + 1)}.`}
        </li>
      ))}
    </ul>
  );
}
