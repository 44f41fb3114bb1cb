import type { ReactNode } from "react";
import { ManageButton } from "../collections/manage-button.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { go, usePlace } from "../route/place.ts";
import type { Asked } from "../session/ask-collection.ts";
import { type Scope, useCollection, useCollections, useScope } from "../session/use-scope.ts";

interface Props {
  readonly show: (asked: Asked, scope: Scope) => ReactNode;
}

/** What a view shows of the collection that the address names; the choice of one where it names none. */
export function OfCollection({ show }: Props): ReactNode {
  const scope = useScope();
  const collection = useCollection(scope);
  const place = usePlace();
  if (place.collection === null) return <ChooseCollection />;
  if (collection.isPending) return <Loading what="the collection" />;
  const { data } = collection;
  // What stands in its forms stays there, whatever a later look says.
  return (
    <>
      {collection.isError && <Failure error={collection.error} retry={() => void collection.refetch()} />}
      {data !== undefined && show({ client: scope.client, collection: data }, scope)}
    </>
  );
}

function ChooseCollection(): ReactNode {
  const scope = useScope();
  const { view } = usePlace();
  const collections = useCollections(scope);
  if (collections.isPending) return <Loading what="the collections" />;
  if (collections.isError)
    return <Failure error={collections.error} retry={() => void collections.refetch()} />;
  const { tenant, database } = scope;
  if (collections.data.length === 0) {
    return (
      <Empty>
        <p>The database {database} has no collections yet.</p>
        <ManageButton managed="new">Make a collection</ManageButton>
      </Empty>
    );
  }
  return (
    <section className="card">
      <h1>Which collection?</h1>
      <ul>
        {collections.data.map(({ id, name }) => (
          <li key={id}>
            <button
              type="button"
              className="link"
              onClick={() => go({ view, tenant, database, collection: name })}
            >
              {name}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
