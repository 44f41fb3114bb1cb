/** Which tenant, database and collection the view is about. */
import type { ReactNode } from "react";
import { ManageButton } from "../collections/manage-button.tsx";
import { Picker } from "../parts/picker.tsx";
import { go, usePlace } from "../route/place.ts";
import { may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { useCollections, useScope } from "../session/use-scope.ts";

const ABOUT_COLLECTIONS: ReadonlySet<string> = new Set(["data", "search", "map"]);

export function Pickers(): ReactNode {
  const scope = useScope();
  const { view, collection } = usePlace();
  if (view === "keys" || view === "lab") return <div className="pickers" />;
  const { tenant, database } = scope;
  return (
    <div className="pickers">
      <Picker
        nothing="choose one"
        label="Tenant"
        names={scope.tenants}
        chosen={tenant}
        choose={(name) => go({ tenant: name, database: null, collection: null })}
      />
      {ABOUT_COLLECTIONS.has(view) && (
        <>
          <Picker
            nothing="choose one"
            label="Database"
            names={scope.databases}
            chosen={database}
            choose={(name) => go({ tenant, database: name, collection: null })}
          />
          <CollectionPicker chosen={collection} />
          {collection !== null && <ManageButton managed="collection">Settings</ManageButton>}
        </>
      )}
    </div>
  );
}

function CollectionPicker({ chosen }: { readonly chosen: string | null }): ReactNode {
  const scope = useScope();
  const collections = useCollections(scope);
  const session = useSession();
  if (!may(session, "read")) return null;
  const names = collections.data?.map(({ name }) => name) ?? [];
  const listed = chosen === null || names.includes(chosen) ? names : [...names, chosen];
  const { tenant, database } = scope;
  return (
    <Picker
      nothing="choose one"
      label="Collection"
      names={chosen === null ? ["", ...listed] : listed}
      chosen={chosen ?? ""}
      choose={(name) => go({ tenant, database, collection: name === "" ? null : name })}
    />
  );
}
