/** A form that makes a collection. */
import type { Space } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { formText } from "../parts/form-text.ts";
import { Failure } from "../parts/states.tsx";
import { may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import type { Scope } from "../session/use-scope.ts";
import { CUTS, type Cut, EMBEDDINGS, type Embedding, SPACES, createParams } from "./described-collection.ts";

const BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2";

interface Props {
  readonly scope: Scope;
  readonly onMade: (made: { readonly database: string; readonly collection: string }) => void;
}

export function NewCollection({ scope: { client, database, databases }, onMade }: Props): ReactNode {
  const models = useDenseModels(client);
  const [embedding, setEmbedding] = useState<Embedding>("hybrid");
  const [cut, setCut] = useState<Cut>("none");
  const [isAsked, setAsked] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const make = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = formText(form, "name");
    const into = formText(form, "database");
    const size = Number(formText(form, "size"));
    const params = createParams({
      ...{ name, embedding, cut, size: size > 0 ? size : null },
      space: formText(form, "space") as Space,
      model: formText(form, "model"),
    });
    setAsked(true);
    setFailure(null);
    const scoped = client.scoped({ database: into });
    scoped.createCollection(params).then(
      () => onMade({ database: into, collection: name }),
      (error: unknown) => {
        setFailure(error);
        setAsked(false);
      },
    );
  };
  return (
    <form onSubmit={make}>
      <NameFields database={database} databases={databases} />
      <Choice label="Embedding" names={EMBEDDINGS} chosen={embedding} choose={setEmbedding} />
      {embedding === "none" ? (
        <p className="hint">The first vector says how many dimensions all have.</p>
      ) : (
        <>
          <label className="field">
            <span>Dense model</span>
            <select name="model">
              {models.map((model) => (
                <option key={model}>{model}</option>
              ))}
            </select>
          </label>
          <Choice label="Documents are cut" names={CUTS} chosen={cut} choose={setCut} />
          {cut !== "none" && (
            <label className="field">
              <span>Tokens of a chunk at most</span>
              <input name="size" type="number" min={1} placeholder="256" />
            </label>
          )}
        </>
      )}
      <label className="field">
        <span>Metric</span>
        <select name="space">
          {SPACES.map((space) => (
            <option key={space}>{space}</option>
          ))}
        </select>
      </label>
      {failure !== null && <Failure error={failure} />}
      <button className="primary" disabled={isAsked}>
        Make the collection
      </button>
    </form>
  );
}

function NameFields({ database, databases }: Pick<Scope, "database" | "databases">): ReactNode {
  return (
    <>
      <label className="field">
        <span>Name</span>
        <input name="name" required autoComplete="off" spellCheck={false} />
        <span className="hint">3 or more letters, digits, dots, underscores and hyphens.</span>
      </label>
      <label className="field">
        <span>Database</span>
        <select name="database" defaultValue={database}>
          {databases.map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      </label>
    </>
  );
}

/** Those that are here, where the key may list them. */
function useDenseModels(client: Scope["client"]): readonly string[] {
  const session = useSession();
  const models = useQuery({
    queryKey: ["models"],
    enabled: may(session, "embed"),
    queryFn: ({ signal }) => client.listModels({ signal }),
  });
  const usable = models.data?.filter(({ kind, available }) => kind === "dense" && available) ?? [];
  return [...new Set([BUNDLED_MODEL, ...usable.map(({ identifier }) => identifier)])];
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly names: Readonly<Record<T, string>>;
  readonly chosen: T;
  readonly choose: (name: T) => void;
}

function Choice<T extends string>({ label, names, chosen, choose }: ChoiceProps<T>): ReactNode {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={chosen} onChange={({ target }) => choose(target.value as T)}>
        {Object.entries<string>(names).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
