/** JSON to type, with the words that may stand at the caret: the arrows choose one, Enter or Tab takes it, Escape wants none. */
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { type Completion, type Grammar, completed, completionAt } from "./complete-json.ts";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly grammar: Grammar;
  readonly rows: number;
  readonly placeholder?: string;
  readonly isInvalid?: boolean;
  /** `/` goes there. */
  readonly isSearch?: boolean;
  readonly area?: RefObject<HTMLTextAreaElement | null>;
}

export function JsonField(props: Props): ReactNode {
  const { label, value, onText, grammar, rows, placeholder, isInvalid = false, isSearch = false } = props;
  const id = useId();
  const own = useRef<HTMLTextAreaElement>(null);
  const area = props.area ?? own;
  const [offered, setOffered] = useState<Completion | null>(null);
  const [chosen, setChosen] = useState(0);
  /** Where the caret goes once the text is there. */
  const caret = useRef<number>(null);
  useLayoutEffect(() => {
    if (caret.current === null) return;
    area.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });
  const offer = (text: string, at: number): void => {
    setOffered(completionAt(text, at, grammar));
    setChosen(0);
  };
  const take = (option: string | undefined): void => {
    if (offered === null || option === undefined) return;
    const next = completed(value, offered.spot, option);
    caret.current = next.caret;
    setOffered(null);
    onText(next.text);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (offered === null) return;
    const { length } = offered.options;
    const step = { ArrowDown: 1, ArrowUp: length - 1 }[event.key];
    if (step !== undefined) setChosen((chosen + step) % length);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) take(offered.options[chosen]);
    else if (event.key === "Escape") setOffered(null);
    else {
      // Somewhere else other words may stand.
      if (/^(?:Arrow|Home|End|Page)/u.test(event.key)) setOffered(null);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = offered?.options ?? [];
  return (
    <div className="field">
      <label htmlFor={id}>
        <span>{label}</span>
      </label>
      <textarea
        id={id}
        ref={area}
        rows={rows}
        spellCheck={false}
        data-search={isSearch ? "" : undefined}
        placeholder={placeholder}
        value={value}
        aria-invalid={isInvalid}
        aria-autocomplete="list"
        aria-controls={shown.length === 0 ? undefined : `${id}-list`}
        aria-activedescendant={shown.length === 0 ? undefined : `${id}-${chosen}`}
        onChange={({ target }) => {
          onText(target.value);
          offer(target.value, target.selectionStart);
        }}
        onKeyDown={onKeyDown}
        onClick={() => setOffered(null)}
        onBlur={() => setOffered(null)}
      />
      {shown.length > 0 && <Options id={id} options={shown} chosen={chosen} onTake={take} />}
    </div>
  );
}

interface OptionsProps {
  readonly id: string;
  readonly options: readonly string[];
  readonly chosen: number;
  readonly onTake: (option: string) => void;
}

function Options({ id, options, chosen, onTake }: OptionsProps): ReactNode {
  return (
    <ul className="options" role="listbox" id={`${id}-list`} aria-label="Words">
      {options.map((option, i) => (
        <li
          key={option}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          onMouseDown={(event) => {
            // The field keeps the focus.
            event.preventDefault();
            onTake(option);
          }}
        >
          {option}
        </li>
      ))}
    </ul>
  );
}
