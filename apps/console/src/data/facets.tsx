/** The values of metadata keys and how many records have each: a click filters by one. */
import type { Facet } from "@sheaf/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { number, shortened } from "../parts/format.ts";
import type { JsonObject } from "../parts/json-text.ts";
import { Failure } from "../parts/states.tsx";
import { setParams } from "../route/place.ts";
import { type Asked, ask, metadataKeys } from "../session/ask-collection.ts";
import { type Scalar, chosenValues, hasValue, toggleValue, withoutValues } from "./filter.ts";

/** The server counts 32 keys at most, and nobody reads more than some. */
const MOST_KEYS = 12;
const VALUES = 8;
const SHOWN_CHARACTERS = 40;
/** From here on there is a place for them beside the records: see `.sided`. */
const WIDE = "(min-width: 62rem)";

type Counted = Readonly<Record<string, Facet<Scalar>>>;

interface Props {
  readonly asked: Asked;
  readonly where: JsonObject | null;
}

export function Facets({ asked, where }: Props): ReactNode {
  const [isWide] = useState(() => matchMedia(WIDE).matches);
  const all = metadataKeys(asked.collection);
  const keys = all.slice(0, MOST_KEYS);
  const facets = useQuery({
    queryKey: ["facets", asked.collection.id, keys, where],
    enabled: keys.length > 0,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => countValues(asked, keys, where, signal),
  });
  const counted = Object.entries(facets.data ?? {}).filter(
    ([key, facet]) => isTelling(facet) || chosenValues(where, key).length > 0,
  );
  return (
    <details className="card values" open={isWide}>
      <summary>Values to filter by</summary>
      {facets.isError && <Failure error={facets.error} retry={() => void facets.refetch()} />}
      {keys.length === 0 && <p className="hint">The records have no metadata.</p>}
      {facets.isSuccess && counted.length === 0 && (
        <p className="hint">No two records have a value in common.</p>
      )}
      {counted.map(([key, facet]) => (
        <FacetValues key={key} name={key} facet={facet} where={where} />
      ))}
      {all.length > MOST_KEYS && (
        <p className="hint">
          Of the first {MOST_KEYS} keys. The filter takes all {number(all.length)}.
        </p>
      )}
    </details>
  );
}

/** Of a key with a chosen value also the others are counted, so that one may choose them, too. */
async function countValues(
  asked: Asked,
  keys: readonly string[],
  where: JsonObject | null,
  signal: AbortSignal,
): Promise<Counted> {
  const chosen = keys.filter((key) => chosenValues(where, key).length > 0);
  const rest = keys.filter((key) => !chosen.includes(key));
  const count = (of: readonly string[], filter: JsonObject | null): Promise<Counted> =>
    ask<Counted>(asked, "/facets", { keys: of, where: filter ?? undefined, limit: VALUES }, signal);
  const parts = await Promise.all([
    ...(rest.length === 0 ? [] : [count(rest, where)]),
    ...chosen.map((key) => count([key], withoutValues(where, key))),
  ]);
  const counted = new Map(parts.flatMap((part) => Object.entries(part)));
  // In the order of the keys, which a click does not change.
  return Object.fromEntries(keys.flatMap((key) => (counted.has(key) ? [[key, counted.get(key)!]] : [])));
}

/** Where each record has a value of its own, a choice of them says nothing. */
function isTelling({ values, other }: Facet<Scalar>): boolean {
  return values.some(({ count }) => count > 1) || (values.length === 1 && other === 0);
}

interface ValuesProps {
  readonly name: string;
  readonly facet: Facet<Scalar>;
  readonly where: JsonObject | null;
}

function FacetValues({ name, facet: { values, other }, where }: ValuesProps): ReactNode {
  return (
    <fieldset>
      <legend>{name}</legend>
      <div className="chips">
        {values.map(({ value, count }) => (
          <button
            key={`${typeof value} ${value}`}
            type="button"
            className="chip"
            aria-pressed={hasValue(where, name, value)}
            onClick={() => setWhere(toggleValue(where, name, value))}
          >
            {shortened(shownAs(value), SHOWN_CHARACTERS)} · {number(count)}
          </button>
        ))}
      </div>
      {other > 0 && (
        <span className="hint">Other values {other === 1 ? "once" : `${number(other)} times`}</span>
      )}
    </fieldset>
  );
}

/** A text that looks like another kind of value stands in quotes. */
function shownAs(value: Scalar): string {
  const looksOther = typeof value === "string" && /^(?:-?\d+(?:\.\d+)?|true|false|null)$/u.test(value);
  return looksOther ? JSON.stringify(value) : String(value);
}

function setWhere(where: JsonObject | null): void {
  setParams({ where: where === null ? "" : JSON.stringify(where), offset: "" }, "new");
}
