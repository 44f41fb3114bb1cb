/** What a collection is; its name, and its end. */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { formText } from "../parts/form-text.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { TypedDeletion } from "../parts/typed-deletion.tsx";
import { may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import type { Scope } from "../session/use-scope.ts";
import { factsOf } from "./collection-facts.ts";

interface Props {
  readonly scope: Scope;
  readonly name: string;
  readonly onChanged: () => void;
}

export function CollectionSettings({
  scope: { client, tenant, database },
  name,
  onChanged,
}: Props): ReactNode {
  const session = useSession();
  const collection = useQuery({
    queryKey: ["collection", tenant, database, name],
    queryFn: ({ signal }) => client.getCollection({ name, signal }),
  });
  if (collection.isPending) return <Loading what="the collection" />;
  if (collection.isError) return <Failure error={collection.error} retry={() => void collection.refetch()} />;
  const { data } = collection;
  const { schema, configuration, metadata } = data.info;
  return (
    <>
      <dl className="facts">
        {factsOf(data.info).map(([fact, value]) => (
          <div key={fact}>
            <dt>{fact}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>Schema and configuration</summary>
        <pre tabIndex={0}>{JSON.stringify({ schema, configuration, metadata }, null, 2)}</pre>
      </details>
      {may(session, "write") && (
        <>
          <Rename name={name} onName={(next) => data.modify({ name: next }).then(onChanged)} />
          <TypedDeletion
            kind="collection"
            name={name}
            says="All of its records go with it."
            onDelete={() => client.deleteCollection({ name }).then(onChanged)}
          />
        </>
      )}
    </>
  );
}

interface RenameProps {
  readonly name: string;
  readonly onName: (name: string) => Promise<void>;
}

function Rename({ name, onName }: RenameProps): ReactNode {
  const [failure, setFailure] = useState<unknown>(null);
  const rename = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setFailure(null);
    onName(formText(new FormData(event.currentTarget), "name")).catch(setFailure);
  };
  return (
    <details>
      <summary>Rename it</summary>
      <form onSubmit={rename}>
        <label className="field">
          <span>Name</span>
          <input name="name" required defaultValue={name} autoComplete="off" spellCheck={false} />
          <span className="hint">Programs and links that use the old name do not find it any more.</span>
        </label>
        {failure !== null && <Failure error={failure} />}
        <button className="primary">Rename</button>
      </form>
    </details>
  );
}
