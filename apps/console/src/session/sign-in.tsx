/** Asks for a key, unless the server takes requests without one. */
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { AuthorizationError } from "@sheaf/client";
import { formText } from "../parts/form-text.ts";
import { Failure } from "../parts/states.tsx";
import { type Session, forgetKey, signIn, storedKey } from "./session.ts";

interface Props {
  readonly onSession: (session: Session) => void;
}

export function SignIn({ onSession }: Props): ReactNode {
  const [asking, setAsking] = useState(true);
  const [failure, setFailure] = useState<unknown>(null);

  useEffect(() => {
    const known = storedKey();
    signIn(known).then(onSession, (error: unknown) => {
      // Without a key the first refusal only says that there are keys.
      if (known !== null) setFailure(error);
      if (error instanceof AuthorizationError) forgetKey();
      setAsking(false);
    });
  }, [onSession]);

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const key = formText(new FormData(event.currentTarget), "key");
    setAsking(true);
    signIn(key === "" ? null : key)
      .then(onSession, setFailure)
      .finally(() => setAsking(false));
  };

  return (
    <main className="sign-in">
      <form onSubmit={submit} className="card">
        <h1>Sheaf</h1>
        <label htmlFor="key">API key</label>
        <input id="key" name="key" type="password" autoComplete="off" spellCheck={false} autoFocus />
        <p className="hint">
          It is kept in this tab until it is closed. The first start of a server prints the root key;{" "}
          <code>sheaf keys create</code> makes others.
        </p>
        {failure !== null && <Failure error={failure} />}
        <button className="primary" disabled={asking}>
          {asking ? "Asking the server…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
