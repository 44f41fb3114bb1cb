/** The values of metadata keys and how many records have each: a click filters by one. */
import type { Facet } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { number, shortened } from "../parts/format.ts";
import type { JsonObject } from "../parts/json-text.ts";
import { Failure } from "../parts/states.tsx";
import { setParams } from "../route/place.ts";
import { type Asked, ask, metadataKeys } from "../session/ask-collection.ts";
import { type Scalar, hasValue, toggleValue } from "./filter.ts";

/** The server counts 32 keys at most, and nobody reads more than some. */
const MOST_KEYS = 12;
const VALUES = 8;
const SHOWN_CHARACTERS = 40;

type Counted = Readonly<Record<string, Facet<Scalar>>>;

export function Facets({
  asked,
  where,
}: {
  readonly asked: Asked;
  readonly where: JsonObject | null;
}): ReactNode {
  const keys = metadataKeys(asked.collection).slice(0, MOST_KEYS);
  const facets = useQuery({
    queryKey: ["facets", asked.collection.id, keys, where],
    enabled: keys.length > 0,
    queryFn: ({ signal }) =>
      ask<Counted>(asked, "/facets", { keys, where: where ?? undefined, limit: VALUES }, signal),
  });
  if (keys.length === 0) return <div className="card hint">The records have no metadata to filter by.</div>;
  return (
    <section className="card" aria-label="Values">
      {facets.isError && <Failure error={facets.error} />}
      {Object.entries(facets.data ?? {}).map(([key, facet]) => (
        <fieldset key={key}>
          <legend>{key}</legend>
          <div className="chips">
            {facet.values.map(({ value, count }) => (
              <button
                key={`${typeof value} ${value}`}
                type="button"
                className="chip"
                aria-pressed={hasValue(where, key, value)}
                onClick={() => setWhere(toggleValue(where, key, value))}
              >
                {shortened(String(value), SHOWN_CHARACTERS)} · {number(count)}
              </button>
            ))}
            {facet.other > 0 && <span className="hint">{number(facet.other)} others</span>}
          </div>
        </fieldset>
      ))}
    </section>
  );
}

function setWhere(where: JsonObject | null): void {
  setParams({ where: where === null ? "" : JSON.stringify(where), offset: "" }, "new");
}
