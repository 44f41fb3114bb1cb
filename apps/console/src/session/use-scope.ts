/** What the key may see: tenants, their databases and collections, and which of them the address names. */
import type { Collection, SheafClient } from "@sheaf/client";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { usePlace } from "../route/place.ts";
import { clientOf, isRoot } from "./session.ts";
import { useSession } from "./session-context.ts";

const DEFAULT_TENANT = "default_tenant";
const DEFAULT_DATABASE = "default_database";
/** Of each list: more are found by their name. */
export const LISTED = 500;

export interface Scope {
  readonly tenant: string;
  readonly database: string;
  readonly client: SheafClient;
  readonly tenants: readonly string[];
  readonly databases: readonly string[];
  /** All that there are; `null` where they are not listed, or not all of them. */
  readonly known: {
    readonly tenants: readonly string[] | null;
    readonly databases: readonly string[] | null;
  };
}

export function useScope(): Scope {
  const session = useSession();
  const place = usePlace();
  const { current } = session;
  const tenant = current.tenant ?? place.tenant ?? DEFAULT_TENANT;
  const tenants = useQuery({
    queryKey: ["tenants"],
    enabled: isRoot(session),
    queryFn: ({ signal }) => clientOf(session).listTenants({ limit: LISTED, signal }),
  });
  const databases = useQuery({
    queryKey: ["databases", tenant],
    enabled: current.database === null && current.scopes.includes("read"),
    queryFn: ({ signal }) => clientOf(session, { tenant }).listDatabases({ limit: LISTED, signal }),
  });
  const known = { tenants: allOf(tenants.data), databases: allOf(databases.data) };
  const names = databases.data?.map(({ name }) => name) ?? [];
  const first = names.includes(DEFAULT_DATABASE) ? DEFAULT_DATABASE : names[0];
  const database = current.database ?? place.database ?? first ?? DEFAULT_DATABASE;
  return {
    ...{ tenant, database, known },
    client: clientOf(session, { tenant, database }),
    tenants: withName(tenants.data?.map(({ name }) => name) ?? [], tenant),
    databases: withName(names, database),
  };
}

export function useCollections({ client, tenant, database }: Scope): UseQueryResult<readonly Collection[]> {
  return useQuery({
    queryKey: ["collections", tenant, database],
    queryFn: ({ signal }) => client.listCollections({ limit: LISTED, signal }),
  });
}

/** The collection that the address names; disabled where it names none. */
export function useCollection({ client, tenant, database }: Scope): UseQueryResult<Collection> {
  const { collection } = usePlace();
  return useQuery({
    queryKey: ["collection", tenant, database, collection],
    enabled: collection !== null,
    queryFn: ({ signal }) => client.getCollection({ name: collection ?? "", signal }),
  });
}

function allOf(listed: readonly { readonly name: string }[] | undefined): readonly string[] | null {
  return listed === undefined || listed.length >= LISTED ? null : listed.map(({ name }) => name);
}

function withName(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names : [...names, name];
}
