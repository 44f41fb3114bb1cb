/** The databases of a tenant: making one, and ending one. */
import { type FormEvent, type ReactNode, useState } from "react";
import { formText } from "../parts/form-text.ts";
import { Failure } from "../parts/states.tsx";
import { TypedDeletion } from "../parts/typed-deletion.tsx";
import type { Scope } from "../session/use-scope.ts";

interface Props {
  readonly scope: Scope;
  readonly onChanged: () => void;
}

export function Databases({ scope: { client, databases }, onChanged }: Props): ReactNode {
  const [failure, setFailure] = useState<unknown>(null);
  const make = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setFailure(null);
    const name = formText(new FormData(event.currentTarget), "name");
    client.createDatabase({ name }).then(onChanged, setFailure);
  };
  return (
    <>
      <form onSubmit={make}>
        <label className="field">
          <span>Name of a new database</span>
          <input name="name" required autoComplete="off" spellCheck={false} />
        </label>
        {failure !== null && <Failure error={failure} />}
        <button className="primary">Make the database</button>
      </form>
      <h3>Databases</h3>
      {databases.map((name) => (
        <TypedDeletion
          key={name}
          kind="database"
          name={name}
          says="All of its collections go with it."
          onDelete={() => client.deleteDatabase({ name }).then(onChanged)}
        />
      ))}
    </>
  );
}
