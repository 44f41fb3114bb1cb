/** The filter as JSON: completed with the keys of the collection, and checked by the server while it is typed. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { JsonField } from "../parts/json-field.tsx";
import { parseExactly } from "../parts/json-text.ts";
import { useDebounced } from "../parts/use-debounced.ts";
import { Problems } from "../parts/problems.tsx";
import { Failure } from "../parts/states.tsx";
import { setParams } from "../route/place.ts";
import { filterGrammar } from "../search/search-words.ts";
import { type Asked, check, metadataKeys } from "../session/ask-collection.ts";
import { clauseToType } from "./filter.ts";

const PAUSE_MS = 300;

export function FilterEditor({ asked, text }: { readonly asked: Asked; readonly text: string }): ReactNode {
  const [draft, setDraft] = useState<{ readonly of: string; readonly text: string } | null>(null);
  const shown = draft?.of === text ? draft.text : text;
  const parsed = parseExactly(useDebounced(shown, PAUSE_MS));
  const where = "value" in parsed ? parsed.value : null;
  const findings = useQuery({
    queryKey: ["check", asked.collection.id, where],
    enabled: where !== null,
    queryFn: ({ signal }) => check(asked, { where: where! }, signal),
  });
  const grammar = filterGrammar({ keys: metadataKeys(asked.collection) });
  const problems =
    "problem" in parsed ? [{ path: "", code: "", message: parsed.problem }] : (findings.data?.problems ?? []);
  const apply = (value: string): void => {
    setDraft(null);
    setParams({ where: value, offset: "" }, "new");
  };
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        apply(shown.trim());
      }}
    >
      <JsonField
        label="Filter"
        rows={2}
        isSearch
        placeholder={'{"year": {"$gte": 1990}}'}
        value={shown}
        isInvalid={problems.length > 0}
        grammar={grammar}
        onText={(next) => setDraft({ of: text, text: next })}
      />
      <Problems findings={problems} kind="problems" />
      {findings.isError && <Failure error={findings.error} retry={() => void findings.refetch()} />}
      <Problems findings={findings.data?.warnings ?? []} kind="warnings" />
      <div className="row">
        <button className="primary" disabled={problems.length > 0}>
          Apply
        </button>
        <button type="button" disabled={shown === ""} onClick={() => apply("")}>
          Clear
        </button>
        <AddClause asked={asked} text={shown} onText={(next) => setDraft({ of: text, text: next })} />
      </div>
    </form>
  );
}

interface AddProps {
  readonly asked: Asked;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** Writes a clause for a key, whose value is to be typed. */
function AddClause({ asked: { collection }, text, onText }: AddProps): ReactNode {
  const add = (key: string): void => {
    const parsed = parseExactly(text);
    const clause = clauseToType(key, collection.info.schema.keys?.[key]);
    const known = "value" in parsed && parsed.value !== null ? parsed.value : null;
    onText(JSON.stringify(known === null ? clause : { $and: [known, clause] }, null, 1));
  };
  return (
    <select aria-label="Add a clause for a key" value="" onChange={(event) => add(event.target.value)}>
      <option value="">Add a clause…</option>
      {[...metadataKeys(collection), "#id", "#document"].map((key) => (
        <option key={key}>{key}</option>
      ))}
    </select>
  );
}
