/** The tenants of the server, for keys that may see every one. */
import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { bytes, number } from "../parts/format.ts";
import { ListTable } from "../parts/tables.tsx";
import { writePlace } from "../route/place.ts";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { useScope } from "../session/use-scope.ts";

/** The server goes through all collections of a tenant for its sums. */
const MEASURED = 20;
const STALE_MS = 60_000;

export function TenantsTable(): ReactNode {
  const session = useSession();
  const { tenants, tenant } = useScope();
  const usages = useQueries({
    queries: tenants.slice(0, MEASURED).map((name) => ({
      queryKey: ["usage of tenant", name],
      staleTime: STALE_MS,
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        clientOf(session, { tenant: name }).usage({ limit: 1, signal }),
    })),
  });
  if (tenants.length < 2) return null;
  return (
    <ListTable
      label="Tenants"
      title="Tenants"
      heads={["Tenant", "Databases", "Collections", "Records", "On the disk"]}
    >
      {tenants.map((name, i) => {
        const usage = usages[i]?.data;
        const used = (of: "databases" | "collections" | "records"): string =>
          number(usage?.[of].used ?? null);
        return (
          <tr key={name}>
            <td>
              <a
                href={writePlace({
                  view: "overview",
                  tenant: name,
                  database: null,
                  collection: null,
                  params: {},
                })}
                aria-current={name === tenant ? "true" : undefined}
              >
                {name}
              </a>
            </td>
            <td>{used("databases")}</td>
            <td>{used("collections")}</td>
            <td>{used("records")}</td>
            <td>{bytes(usage?.bytes.used ?? null)}</td>
          </tr>
        );
      })}
    </ListTable>
  );
}
