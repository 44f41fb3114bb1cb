/** The search as a form. */
import { type ReactNode, useState } from "react";
import { number } from "../parts/format.ts";
import { JsonField } from "../parts/json-field.tsx";
import { parseExactly } from "../parts/json-text.ts";
import { Failure } from "../parts/states.tsx";
import type { Leaf, SearchForm } from "./dictionary.ts";
import { filterGrammar } from "./search-words.ts";

interface Props {
  readonly form: SearchForm;
  /** Vector indexes of the collection. */
  readonly indexes: readonly string[];
  readonly keys: readonly string[];
  readonly onForm: (form: SearchForm) => void;
}

const WEIGHT_STEP = 0.1;
const MOST = 1_000;

export function SearchFormFields({ form, indexes, keys, onForm }: Props): ReactNode {
  const set = (change: Partial<SearchForm>): void => onForm({ ...form, ...change });
  const rest = Object.keys(form.rest);
  return (
    <>
      {rest.length > 0 && (
        <p className="hint">Not in this form, and left as the dictionary has it: {rest.join(", ")}.</p>
      )}
      <label className="field">
        <span>Text</span>
        <input
          data-search
          value={form.text}
          placeholder="What should be found?"
          onChange={({ target }) => {
            // Whoever begins to type asks all of them.
            const isFirst = form.text === "" && form.leaves.length === 0;
            const leaves = isFirst ? indexes.map((key) => ({ key, weight: 1 })) : form.leaves;
            set({ text: target.value, leaves });
          }}
        />
      </label>
      <Leaves form={form} indexes={indexes} onLeaves={(leaves) => set({ leaves })} />
      <WhereField form={form} keys={keys} onForm={set} />
      <div className="row">
        <label className="picker">
          <span>One result for each</span>
          <select value={form.groupBy} onChange={({ target }) => set({ groupBy: target.value })}>
            <option value="">record</option>
            {keys.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </select>
        </label>
        <NumberField label="Results" value={form.limit} onValue={(limit) => set({ limit })} />
        <NumberField
          label="Candidates of each index"
          value={form.candidates}
          onValue={(candidates) => set({ candidates })}
        />
      </div>
    </>
  );
}

interface LeavesProps {
  readonly form: SearchForm;
  readonly indexes: readonly string[];
  readonly onLeaves: (leaves: readonly Leaf[]) => void;
}

function Leaves({ form: { leaves, text }, indexes, onLeaves }: LeavesProps): ReactNode {
  const shown = [...new Set([...indexes, ...leaves.map(({ key }) => key)])];
  return (
    <fieldset>
      <legend>Search in</legend>
      {leaves.length === 0 && text !== "" && <p className="hint">Choose an index to search in.</p>}
      {shown.map((key) => {
        const leaf = leaves.find((known) => known.key === key);
        const change = (weight: number): void =>
          onLeaves(leaves.map((known) => (known.key === key ? { key, weight } : known)));
        return (
          <div className="row" key={key}>
            <label className="row">
              <input
                type="checkbox"
                checked={leaf !== undefined}
                onChange={({ target }) =>
                  onLeaves(
                    target.checked
                      ? [...leaves, { key, weight: 1 }]
                      : leaves.filter((known) => known.key !== key),
                  )
                }
              />
              {key}
              <span className="hint">{key === "#embedding" ? "by meaning" : "by words"}</span>
            </label>
            {leaf !== undefined && leaves.length > 1 && (
              <label className="row">
                <span className="hint">weight {leaf.weight}</span>
                <input
                  type="range"
                  aria-label={`Weight of ${key}`}
                  min={0}
                  max={3}
                  step={WEIGHT_STEP}
                  value={leaf.weight}
                  onChange={({ target }) => change(target.valueAsNumber)}
                />
              </label>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

interface WhereProps {
  readonly form: SearchForm;
  readonly keys: readonly string[];
  readonly onForm: (change: Partial<SearchForm>) => void;
}

function WhereField({ form: { where }, keys, onForm }: WhereProps): ReactNode {
  const written = where === null ? "" : JSON.stringify(where);
  const [draft, setDraft] = useState({ of: written, text: written });
  const text = draft.of === written ? draft.text : written;
  const parsed = parseExactly(text);
  const change = (next: string): void => {
    const value = parseExactly(next);
    const of = "value" in value ? (value.value === null ? "" : JSON.stringify(value.value)) : written;
    setDraft({ of, text: next });
    if ("value" in value) onForm({ where: value.value });
  };
  return (
    <>
      <JsonField
        label="Filter"
        rows={1}
        placeholder={'{"year": {"$gte": 1990}}'}
        value={text}
        isInvalid={"problem" in parsed}
        grammar={filterGrammar({ keys })}
        onText={change}
      />
      {"problem" in parsed && <Failure error={parsed.problem} />}
    </>
  );
}

interface NumberProps {
  readonly label: string;
  readonly value: number;
  readonly onValue: (value: number) => void;
}

function NumberField({ label, value, onValue }: NumberProps): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  const isWrong = draft !== null && !isCount(Number(draft));
  return (
    <div className="picker">
      <label className="picker">
        <span>{label}</span>
        <input
          type="number"
          min={1}
          max={MOST}
          aria-invalid={isWrong}
          value={draft ?? value}
          onChange={({ target }) => {
            setDraft(target.value);
            if (isCount(Number(target.value))) onValue(Number(target.value));
          }}
          onBlur={() => setDraft(null)}
        />
      </label>
      {isWrong && (
        <span className="hint" role="alert">
          1 to {number(MOST)}
        </span>
      )}
    </div>
  );
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MOST;
}
