/** The playground: a form and its dictionary side by side, and below them what it finds and why. */
import type { Collection, Finding } from "@sheaf/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import type { Grammar } from "../parts/complete-json.ts";
import { JsonField } from "../parts/json-field.tsx";
import { type JsonObject, parseExactly } from "../parts/json-text.ts";
import { lineOf, partAt } from "../parts/scan-json.ts";
import { Problems } from "../parts/problems.tsx";
import { Failure } from "../parts/states.tsx";
import { useDebounced } from "../parts/use-debounced.ts";
import { setParams, usePlace } from "../route/place.ts";
import { type Asked, type Findings, check, collectionPath, metadataKeys } from "../session/ask-collection.ts";
import { API_URL } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { OfCollection } from "../shell/of-collection.tsx";
import { CopyMenu } from "./copy-menu.tsx";
import { EMPTY_FORM, type SearchForm, dictionaryOf, formOf, isSame } from "./dictionary.ts";
import { FoundSide } from "./found-side.tsx";
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
  const parsed = parseExactly(text);
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
  const isValid =
    searched !== null &&
    findings.isSuccess &&
    !findings.isPlaceholderData &&
    findings.data.problems.length === 0;
  // A mistake leaves the results of what stood there before.
  const [last, setLast] = useState("");
  if (isValid && last !== settled) setLast(settled);
  const valid = isValid ? searched : last === "" ? null : (JSON.parse(last) as JsonObject);
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
          {isValid && dictionary !== null && <Copies asked={asked} dictionary={dictionary} />}
        </section>
      </div>
      {findings.isError && <Failure error={findings.error} retry={() => void findings.refetch()} />}
      {valid !== null && (
        <FoundSide asked={asked} dictionary={valid} isStale={!isValid && !findings.isFetching} />
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
  // Without a text there is no rank, so that the dictionary does not say what the form has of it.
  const [draft, setDraft] = useState<SearchForm>(EMPTY_FORM);
  const isDrafts = dictionary !== null && isSame(dictionaryOf(draft), dictionary);
  const form = dictionary === null ? null : isDrafts ? draft : formOf(dictionary);
  const write = (next: SearchForm): void => {
    setDraft(next);
    onText(JSON.stringify(dictionaryOf(next), null, 2));
  };
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
    const part = partAt(text, path.replace(PREFIX, ""));
    area.current?.focus();
    if (part !== null) area.current?.setSelectionRange(part.from, part.to);
  };
  /** With the line that it is about; of a list of searches nobody has written anything. */
  const placed = (finding: Finding): Finding => {
    const part = problem === null ? partAt(text, finding.path.replace(PREFIX, "")) : null;
    const words = finding.message.replace(PREFIX, "");
    return { ...finding, message: part === null ? words : `line ${lineOf(text, part.from)}: ${words}` };
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
      <Problems findings={problems.map(placed)} kind="problems" onPath={show} />
      <Problems findings={(findings?.warnings ?? []).map(placed)} kind="warnings" onPath={show} />
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
