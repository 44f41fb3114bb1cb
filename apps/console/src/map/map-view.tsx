/** A map of the vectors of a collection: what is alike lies together. */
import { type ReactNode, useMemo, useState } from "react";
import { number } from "../parts/format.ts";
import { fieldOf } from "../parts/json-text.ts";
import { Picker } from "../parts/picker.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { go, setParams, usePlace } from "../route/place.ts";
import { type Asked, metadataKeys } from "../session/ask-collection.ts";
import type { Scope } from "../session/use-scope.ts";
import { OfCollection } from "../shell/of-collection.tsx";
import { COLOURS, Scatter } from "./scatter.tsx";
import { useProjection } from "./use-projection.ts";
import { type Sample, type SampledRecord, useSample } from "./use-sample.ts";

const SIZES = { pca: [1_000, 5_000, 20_000], umap: [1_000, 5_000] } as const;
/** A filter of more ids is refused. */
const MOST_IDS = 1_000;

export function MapView(): ReactNode {
  return (
    <OfCollection
      show={(asked, scope) => {
        const { id, info } = asked.collection;
        if (info.dimension === null) return <Empty>The collection has no vectors yet.</Empty>;
        return <CollectionMap key={id} scope={scope} asked={asked} />;
      }}
    />
  );
}

function CollectionMap({ asked, scope }: { readonly asked: Asked; readonly scope: Scope }): ReactNode {
  const { params } = usePlace();
  const kind = params["layout"] === "umap" ? "umap" : "pca";
  const sizes = SIZES[kind];
  const size = sizes.find((known) => String(known) === params["size"]) ?? sizes[0];
  const { sample, read } = useSample(asked, size);
  const projection = useProjection(sample.data, kind);
  const isFailed = projection !== null && "failure" in projection;
  const news = isFailed ? null : projection;
  return (
    <>
      <div className="row">
        <h1>{asked.collection.name}</h1>
        <Choice name="Layout" param="layout" chosen={kind} values={["pca", "umap"]} />
        <Choice name="Records" param="size" chosen={String(size)} values={sizes.map(String)} />
        <Choice
          name="Colour"
          param="colour"
          chosen={params["colour"] ?? ""}
          values={["", ...metadataKeys(asked.collection)]}
        />
      </div>
      {sample.isError && <Failure error={sample.error} retry={() => void sample.refetch()} />}
      {isFailed && <Failure error={`The layout has ended: ${projection.failure}`} />}
      {sample.isPending && <Loading what={`vectors: ${number(read)}`} />}
      {sample.isSuccess && sample.data.records.length > 0 && !isFailed && (news?.done ?? 0) < 1 && (
        <div className="row">
          {news === null && <span className="hint">Comparing the vectors…</span>}
          <progress aria-label="Layout" value={news?.done} />
          {kind === "umap" && (
            <button type="button" onClick={() => setParams({ layout: "" })}>
              Cancel
            </button>
          )}
        </div>
      )}
      {sample.isSuccess && sample.data.records.length === 0 && <Empty>The collection has no records.</Empty>}
      {sample.isSuccess && news !== null && (
        <Drawn
          sample={sample.data}
          places={news.places}
          layout={kind}
          colour={params["colour"] ?? ""}
          scope={scope}
          name={asked.collection.name}
        />
      )}
    </>
  );
}

interface DrawnProps {
  readonly sample: Sample;
  readonly places: Float32Array;
  readonly layout: string;
  readonly colour: string;
  readonly scope: Scope;
  readonly name: string;
}

function Drawn({ sample: { records }, places, layout, colour, scope, name }: DrawnProps): ReactNode {
  const [hovered, setHovered] = useState<number | null>(null);
  const [looped, setLooped] = useState<readonly number[]>([]);
  const values = useMemo(() => commonValues(records, colour), [records, colour]);
  const colours = useMemo(
    () => Uint8Array.from(records, (record) => colourOf(values, valueOf(record, colour))),
    [records, values, colour],
  );
  const ids = looped.slice(0, MOST_IDS).flatMap((i) => records[i]?.id ?? []);
  const { tenant, database } = scope;
  const where = JSON.stringify({ "#id": { $in: ids } });
  const shown = hovered === null ? undefined : records[hovered];
  return (
    <section className="card map" aria-label="Map">
      <p className="hint" role="status">
        {shown === undefined
          ? `${number(records.length)} records. Point at one, or draw a loop around several; the arrow keys go from one to the next, Enter opens it.`
          : `${shown.id}: ${shown.text}`}
      </p>
      <Scatter
        label={`A map of ${records.length} records by ${layout}`}
        places={places}
        colours={colours}
        onHover={setHovered}
        onLoop={setLooped}
        hovered={hovered}
        onOpen={(i) =>
          go({ view: "data", tenant, database, collection: name, params: { record: records[i]?.id ?? "" } })
        }
      />
      {colour !== "" && (
        <p className="chips">
          {values.map((value, i) => (
            <span key={value} className="chip">
              <svg width="10" height="10" aria-hidden="true">
                <circle cx="5" cy="5" r="5" fill={`var(--bar-${i + 1})`} />
              </svg>{" "}
              {value}
            </span>
          ))}
        </p>
      )}
      {ids.length > 0 && (
        <button
          type="button"
          className="primary"
          onClick={() => go({ view: "data", tenant, database, collection: name, params: { where } })}
        >
          {ids.length === 1 ? "Show this record" : `Show these ${number(ids.length)} records`}
        </button>
      )}
    </section>
  );
}

function valueOf({ metadata }: SampledRecord, key: string): string {
  const value = fieldOf(metadata, key);
  return value === undefined || value === null
    ? "none"
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
}

/** The most frequent ones have colours of their own, all others share the last. */
function commonValues(records: readonly SampledRecord[], key: string): readonly string[] {
  const counts = new Map<string, number>();
  for (const record of records) {
    const value = valueOf(record, key);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const common = [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
  return common.length <= COLOURS ? common : [...common.slice(0, COLOURS - 1), "others"];
}

function colourOf(values: readonly string[], value: string): number {
  const place = values.indexOf(value);
  return place === -1 ? values.length - 1 : place;
}

interface ChoiceProps {
  readonly name: string;
  readonly param: string;
  readonly chosen: string;
  readonly values: readonly string[];
}

function Choice({ name, param, chosen, values }: ChoiceProps): ReactNode {
  const choose = (value: string): void => setParams({ [param]: value });
  return <Picker label={name} names={values} chosen={chosen} choose={choose} nothing="none" />;
}
