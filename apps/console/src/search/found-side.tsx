/** What a search finds, beside what a kept one finds, and why records are not found. All of it is in the address. */
import { type UseQueryResult, keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type JsonObject, parseExactly } from "../parts/json-text.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { useDebounced } from "../parts/use-debounced.ts";
import { setParams, usePlace } from "../route/place.ts";
import type { Asked } from "../session/ask-collection.ts";
import { movesOf, summaryOf } from "./moves.ts";
import { Results, WhyNotList } from "./results.tsx";
import { type Found, runSearch } from "./run-search.ts";

const PAUSE_MS = 300;

interface Props {
  readonly asked: Asked;
  readonly dictionary: JsonObject;
  /** The dictionary has problems: this is the one before them. */
  readonly isStale: boolean;
}

export function FoundSide({ asked, dictionary, isStale }: Props): ReactNode {
  const { params } = usePlace();
  const whyNot = useDebounced(params["why"] ?? "", PAUSE_MS);
  const ids = whyNot.split(",").flatMap((id) => (id.trim() === "" ? [] : [id.trim()]));
  const parsed = parseExactly(params["kept"] ?? "");
  const kept = "value" in parsed ? parsed.value : null;
  const found = useFound(asked, dictionary, ids);
  const before = useFound(asked, kept, []);
  const isCompared = kept !== null && found.data !== undefined && before.data !== undefined;
  const written = JSON.stringify(dictionary, null, 2);
  return (
    <>
      {isCompared && (
        <p role="status" aria-label="What moved">
          {summaryOf(before.data, found.data)}
        </p>
      )}
      <div className="columns">
        <section className="card" aria-label="Results">
          <div className="row">
            <h2>Results</h2>
            {isStale && <span className="hint">of the search before the problems</span>}
            <button type="button" onClick={() => setParams({ kept: kept === null ? written : "" }, "new")}>
              {kept === null ? "Keep to compare" : "Compare no more"}
            </button>
          </div>
          <FoundOf query={found} moves={isCompared ? movesOf(before.data, found.data) : null} />
        </section>
        {kept !== null && (
          <section className="card" aria-label="Kept results">
            <div className="row">
              <h2>Kept</h2>
              <button
                type="button"
                onClick={() => setParams({ search: params["kept"] ?? "", kept: written }, "new")}
              >
                Change places
              </button>
            </div>
            <details>
              <summary>Its dictionary</summary>
              <pre tabIndex={0}>{JSON.stringify(kept, null, 2)}</pre>
            </details>
            <FoundOf query={before} moves={isCompared ? placesNow(found.data, before.data) : null} />
          </section>
        )}
        <section className="card" aria-label="Why not">
          <label className="field">
            <span>Why not this record?</span>
            <input
              placeholder="ids, separated by commas"
              value={params["why"] ?? ""}
              onChange={({ target }) => setParams({ why: target.value })}
            />
          </label>
          <WhyNotList ids={ids} reasons={found.data?.whyNot ?? []} hits={found.data?.hits ?? []} />
        </section>
      </div>
    </>
  );
}

function useFound(
  asked: Asked,
  dictionary: JsonObject | null,
  whyNot: readonly string[],
): UseQueryResult<Found> {
  return useQuery({
    queryKey: ["search", asked.collection.id, dictionary, whyNot],
    enabled: dictionary !== null,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => runSearch(asked, dictionary!, whyNot, signal),
  });
}

interface FoundProps {
  readonly query: UseQueryResult<Found>;
  /** By id; `null`: there is nothing to compare with. */
  readonly moves: ReadonlyMap<string, string> | null;
}

function FoundOf({ query, moves }: FoundProps): ReactNode {
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return <Loading what="the results" />;
  return <Results found={query.data} moves={moves} />;
}

/** Of each result that is kept, where it is now. */
function placesNow(now: Found, before: Found): ReadonlyMap<string, string> {
  const places = new Map(now.hits.map(({ id }, place) => [id, place]));
  return new Map(
    before.hits.map(({ id }) => {
      const place = places.get(id);
      return [id, place === undefined ? "gone" : `now ${place + 1}`];
    }),
  );
}
