/** Deletes what has a name, once the name is typed. */
import { type FormEvent, type ReactNode, useState } from "react";
import { Failure } from "./states.tsx";

interface Props {
  /** `collection`. */
  readonly kind: string;
  readonly name: string;
  /** What goes with it. */
  readonly says: string;
  readonly onDelete: () => Promise<void>;
}

export function TypedDeletion({ kind, name, says, onDelete }: Props): ReactNode {
  const [typed, setTyped] = useState("");
  const [isAsked, setAsked] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setAsked(true);
    setFailure(null);
    onDelete().catch((error: unknown) => {
      setFailure(error);
      setAsked(false);
    });
  };
  return (
    <details>
      <summary>
        Delete the {kind} {name}
      </summary>
      <form onSubmit={submit}>
        <p>{says}</p>
        <label className="field">
          <span>Type its name to delete it for good</span>
          <input
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => setTyped(target.value)}
          />
        </label>
        {failure !== null && <Failure error={failure} />}
        <button className="danger" disabled={typed !== name || isAsked}>
          Delete the {kind}
        </button>
      </form>
    </details>
  );
}
