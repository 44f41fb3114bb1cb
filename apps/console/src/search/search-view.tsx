/** The playground: a form and its dictionary side by side, and below them what it finds and why. */
import type { Collection } from "@sheaf/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import type { Grammar } from "../parts/complete-json.ts";
import { JsonField } from "../parts/json-field.tsx";
import { type JsonObject, parseObject } from "../parts/json-text.ts";
import { Problems } from "../parts/problems.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { useDebounced } from "../parts/use-debounced.ts";
import { setParams, usePlace } from "../route/place.ts";
import { type Asked, type Findings, check, collectionPath, metadataKeys } from "../session/ask-collection.ts";
import { API_URL } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { OfCollection } from "../shell/of-collection.tsx";
import { CopyMenu } from "./copy-menu.tsx";
import { EMPTY_FORM, type SearchForm, dictionaryOf, formOf } from "./dictionary.ts";
import { Results, WhyNotList } from "./results.tsx";
import { type Found, runSearch } from "./run-search.ts";
import { SearchFormFields } from "./search-form.tsx";
import { searchGrammar } from "./search-words.ts";

const PAUSE_MS = 300;
const PREFIX = /^searches\[0\]\.?/u;

export function SearchView(): ReactNode {
  return <OfCollection show={(asked) => <Playground key={asked.collection.id} asked={asked} />} />;
}

function Playground({ asked }: { readonly asked: Asked }): ReactNode {
  const { params } = usePlace();
  const text = params["search"] ?? JSON.stringify(dictionaryOf(EMPTY_FORM), null, 2);
  const parsed = parseObject(text);
  const dictionary = "value" in parsed ? (parsed.value ?? {}) : null;
  const settled = useDebounced(dictionary === null ? "" : JSON.stringify(dictionary), PAUSE_MS);
  const searched = settled === "" ? null : (JSON.parse(settled) as JsonObject);
  const setText = (next: string): void => setParams({ search: next });
  const findings = useQuery({
    queryKey: ["check", asked.collection.id, searched],
    enabled: searched !== null,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => check(asked, searched!, signal),
  });
  return (
    <>
      <h1>{asked.collection.name}</h1>
      <div className="columns">
        <section className="card" aria-label="Form">
          <FormSide asked={asked} dictionary={dictionary} onText={setText} />
        </section>
        <section className="card" aria-label="Dictionary">
          <DictionarySide
            text={text}
            grammar={searchGrammar({
              keys: metadataKeys(asked.collection),
              indexes: indexesOf(asked.collection),
            })}
            problem={"problem" in parsed ? parsed.problem : null}
            findings={findings.data}
            onText={setText}
          />
          {dictionary !== null && <Copies asked={asked} dictionary={dictionary} />}
        </section>
      </div>
      {searched !== null && findings.data?.problems.length === 0 && (
        <FoundSide asked={asked} dictionary={searched} />
      )}
    </>
  );
}

interface FormProps {
  readonly asked: Asked;
  readonly dictionary: JsonObject | null;
  readonly onText: (text: string) => void;
}

function FormSide({ asked, dictionary, onText }: FormProps): ReactNode {
  const form = dictionary === null ? null : formOf(dictionary);
  const write = (next: SearchForm): void => onText(JSON.stringify(dictionaryOf(next), null, 2));
  if (form === null) {
    return (
      <>
        <p>The dictionary has what this form does not show.</p>
        <button type="button" onClick={() => write(EMPTY_FORM)}>
          Begin a new search
        </button>
      </>
    );
  }
  const { collection } = asked;
  return (
    <SearchFormFields
      form={form}
      indexes={indexesOf(collection)}
      keys={metadataKeys(collection)}
      onForm={write}
    />
  );
}

/** Keys with a vector index, the dense one first. */
export function indexesOf({ info: { schema } }: Collection): readonly string[] {
  const sparse = Object.entries(schema.keys ?? {}).filter(
    ([, types]) => types.sparse_vector?.sparse_vector_index?.enabled === true,
  );
  return ["#embedding", ...sparse.map(([key]) => key)];
}

interface DictionaryProps {
  readonly grammar: Grammar;
  readonly text: string;
  readonly problem: string | null;
  readonly findings: Findings | undefined;
  readonly onText: (text: string) => void;
}

function DictionarySide({ text, grammar, problem, findings, onText }: DictionaryProps): ReactNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const show = (path: string): void => {
    const name = path
      .replace(PREFIX, "")
      .split(/[.[\]]+/u)
      .findLast((part) => part !== "" && !/^\d+$/u.test(part));
    const at = name === undefined ? -1 : text.indexOf(JSON.stringify(name));
    area.current?.focus();
    if (at >= 0) area.current?.setSelectionRange(at, at + JSON.stringify(name).length);
  };
  const problems = problem === null ? (findings?.problems ?? []) : [{ path: "", code: "", message: problem }];
  return (
    <>
      <JsonField
        label="Dictionary"
        area={area}
        rows={14}
        value={text}
        isInvalid={problems.length > 0}
        grammar={grammar}
        onText={onText}
      />
      <Problems findings={problems} kind="problems" onPath={show} />
      <Problems findings={findings?.warnings ?? []} kind="warnings" onPath={show} />
    </>
  );
}

function Copies({
  asked,
  dictionary,
}: {
  readonly asked: Asked;
  readonly dictionary: JsonObject;
}): ReactNode {
  const { key } = useSession();
  const { collection } = asked;
  const search = {
    ...{ url: API_URL, path: collectionPath(collection), info: collection.info },
    ...{ dictionary, hasKey: key !== null },
  };
  return (
    <div className="row">
      <span className="hint">Copy as</span>
      <CopyMenu search={search} />
    </div>
  );
}

function FoundSide({
  asked,
  dictionary,
}: {
  readonly asked: Asked;
  readonly dictionary: JsonObject;
}): ReactNode {
  const { params } = usePlace();
  const whyNot = useDebounced(params["why"] ?? "", PAUSE_MS);
  const ids = whyNot.split(",").flatMap((id) => (id.trim() === "" ? [] : [id.trim()]));
  const [kept, setKept] = useState<Found | null>(null);
  const found = useQuery({
    queryKey: ["search", asked.collection.id, dictionary, ids],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => runSearch(asked, dictionary, ids, signal),
  });
  if (found.isPending) return <Loading what="the results" />;
  if (found.isError) return <Failure error={found.error} retry={() => void found.refetch()} />;
  return (
    <div className="columns">
      <section className="card" aria-label="Results">
        <div className="row">
          <h2>Results</h2>
          <button type="button" onClick={() => setKept(kept === null ? found.data : null)}>
            {kept === null ? "Keep to compare" : "Compare no more"}
          </button>
        </div>
        <Results found={found.data} kept={kept} />
      </section>
      {kept !== null && (
        <section className="card" aria-label="Kept results">
          <h2>Kept</h2>
          <Results found={kept} kept={null} />
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
        <WhyNotList reasons={found.data.whyNot} />
        {ids.length > 0 && found.data.whyNot.length === 0 && <p>It is among the results.</p>}
      </section>
    </div>
  );
}
