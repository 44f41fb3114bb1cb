/** One dialog for what is above the records: a new collection, an existing one, or the databases. The address says which. */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Modal } from "../parts/modal.tsx";
import { go, setParams, usePlace } from "../route/place.ts";
import { useSession } from "../session/session-context.ts";
import { useScope } from "../session/use-scope.ts";
import { CollectionSettings } from "./collection-settings.tsx";
import { Databases } from "./databases.tsx";
import { type Managed, mayManage } from "./may-manage.ts";
import { NewCollection } from "./new-collection.tsx";

export function ManageDialog(): ReactNode {
  const scope = useScope();
  const session = useSession();
  const queries = useQueryClient();
  const { params, collection } = usePlace();
  const { tenant } = scope;
  const managed = params["manage"] as Managed | undefined;
  const close = (): void => setParams({ manage: "" }, "new");
  const changed = (): void => void queries.invalidateQueries();
  const ended = (): void => {
    go({ view: "overview", tenant, database: null, collection: null });
    changed();
  };
  const titles: Readonly<Record<Managed, string>> = {
    ...{ new: "A new collection", collection: collection ?? "", databases: "Databases" },
  };
  const isKnown = managed !== undefined && Object.hasOwn(titles, managed);
  if (!isKnown || !mayManage(session, managed)) return null;
  return (
    <Modal title={titles[managed]} open onClose={close}>
      {managed === "new" && (
        <NewCollection
          scope={scope}
          onMade={(made) => {
            changed();
            go({ view: "data", tenant, ...made });
          }}
        />
      )}
      {managed === "collection" && collection !== null && (
        <CollectionSettings scope={scope} name={collection} onChanged={ended} />
      )}
      {managed === "databases" && <Databases scope={scope} onChanged={ended} />}
    </Modal>
  );
}
