import type { IssuedKey, KeyLimits, KeyScope, SheafClient } from "@sheaf/client";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { formText } from "../parts/form-text.ts";
import { Failure } from "../parts/states.tsx";

const SCOPES: readonly (readonly [KeyScope, string])[] = [
  ["read", "search and read records"],
  ["write", "change records and collections"],
  ["embed", "embed texts"],
  ["admin", "databases; without a tenant everything"],
];

const LIMITS: readonly (readonly [keyof KeyLimits, string])[] = [
  ["requestsPerMinute", "Requests a minute"],
  ["tokensPerMinute", "Tokens a minute"],
  ["concurrentRequests", "Requests at a time"],
];

const DAY_MS = 24 * 3_600_000;

interface Props {
  readonly client: SheafClient;
  /** That there are. */
  readonly tenants: readonly string[];
  readonly onMade: (key: IssuedKey) => void;
}

export function NewKey({ client, tenants, onMade }: Props): ReactNode {
  const [failure, setFailure] = useState<unknown>(null);
  const tenantsId = useId();
  const make = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string): string => formText(form, name);
    const tenant = text("tenant") === "" ? null : text("tenant");
    const database = text("database") === "" || tenant === null ? {} : { database: text("database") };
    const scopes = SCOPES.flatMap(([scope]) => (form.has(scope) ? [scope] : []));
    const days = Number(text("days"));
    const expiry = days > 0 ? { expiresAt: new Date(Date.now() + days * DAY_MS) } : {};
    const limits = Object.fromEntries(
      LIMITS.flatMap(([limit]) => (text(limit) === "" ? [] : [[limit, Number(text(limit))] as const])),
    );
    client
      .createKey({ name: text("name"), tenant, ...database, scopes, limits, ...expiry })
      .then(onMade, setFailure);
  };
  return (
    <form onSubmit={make}>
      <label className="field">
        <span>Name</span>
        <input name="name" required maxLength={128} />
      </label>
      <label className="field">
        <span>Tenant</span>
        <input name="tenant" defaultValue="default_tenant" list={tenantsId} />
        <datalist id={tenantsId}>
          {tenants.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <span className="hint">Left empty, the key is for every tenant.</span>
      </label>
      <label className="field">
        <span>Database</span>
        <input name="database" />
        <span className="hint">Left empty, the key is for every database of the tenant.</span>
      </label>
      <fieldset>
        <legend>Scopes</legend>
        {SCOPES.map(([scope, meaning]) => (
          <label key={scope} className="row">
            <input type="checkbox" name={scope} defaultChecked={scope === "read"} /> {scope}
            <span className="hint">{meaning}</span>
          </label>
        ))}
      </fieldset>
      <label className="field">
        <span>Days until it expires</span>
        <input name="days" type="number" min={1} max={3_650} />
        <span className="hint">Left empty, it does not.</span>
      </label>
      <details>
        <summary>Limits</summary>
        <p className="hint">Left empty, those of the server hold. 0 is no limit.</p>
        {LIMITS.map(([limit, label]) => (
          <label key={limit} className="field">
            <span>{label}</span>
            <input name={limit} type="number" min={0} />
          </label>
        ))}
      </details>
      {failure !== null && <Failure error={failure} />}
      <button className="primary">Make the key</button>
    </form>
  );
}
