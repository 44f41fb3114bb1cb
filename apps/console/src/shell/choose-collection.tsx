import type { ReactNode } from "react";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { go, usePlace } from "../route/place.ts";
import { useCollections, useScope } from "../session/use-scope.ts";

/** Stands where a view needs a collection and the address names none. */
export function ChooseCollection(): ReactNode {
  const scope = useScope();
  const { view } = usePlace();
  const collections = useCollections(scope);
  if (collections.isPending) return <Loading what="the collections" />;
  if (collections.isError)
    return <Failure error={collections.error} retry={() => void collections.refetch()} />;
  const { tenant, database } = scope;
  if (collections.data.length === 0) return <Empty>The database {database} has no collections yet.</Empty>;
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
