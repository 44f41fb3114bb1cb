/** Says that the address names what is not there, instead of showing something else under its name. */
import type { ReactNode } from "react";
import { Empty } from "../parts/states.tsx";
import { placeLink, usePlace } from "../route/place.ts";
import { useSession } from "../session/session-context.ts";
import { useScope } from "../session/use-scope.ts";

interface Missing {
  readonly says: string;
  readonly link: string;
  readonly goesTo: string;
}

export function MissingPlace({ children }: { readonly children: ReactNode }): ReactNode {
  const missing = useMissing();
  if (missing === null) return children;
  return (
    <Empty>
      <p role="alert">{missing.says}</p>
      <a href={missing.link}>{missing.goesTo}</a>
    </Empty>
  );
}

function useMissing(): Missing | null {
  const place = usePlace();
  const { current } = useSession();
  const { known, tenant } = useScope();
  if (place.strange !== null) {
    const link = placeLink(place, { view: "overview" });
    return { says: `The console has no view "${place.strange}".`, link, goesTo: "Go to the overview" };
  }
  const own = { tenant: current.tenant, database: current.database, collection: null };
  const isForeign = (name: string | null, bound: string | null): boolean =>
    name !== null && bound !== null && name !== bound;
  if (isForeign(place.tenant, current.tenant)) {
    const says = `The link is to the tenant "${place.tenant}", and the key is bound to "${current.tenant}".`;
    return { says, link: placeLink(place, own), goesTo: `Go to ${current.tenant}` };
  }
  if (isForeign(place.database, current.database)) {
    const says = `The link is to the database "${place.database}", and the key is bound to "${current.database}".`;
    return { says, link: placeLink(place, own), goesTo: `Go to ${current.database}` };
  }
  if (place.tenant !== null && known.tenants?.includes(place.tenant) === false) {
    const link = placeLink(place, { view: "overview", tenant: null, database: null, collection: null });
    return { says: `There is no tenant "${place.tenant}".`, link, goesTo: "Go to another one" };
  }
  if (place.database !== null && known.databases?.includes(place.database) === false) {
    const link = placeLink(place, { database: null, collection: null });
    return {
      says: `The tenant ${tenant} has no database "${place.database}".`,
      link,
      goesTo: "Go to another one",
    };
  }
  return null;
}
