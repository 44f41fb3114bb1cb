/** What a tenant has beside what it may have. */
import { parsePage } from "@sheaf/protocol";
import { tenantParam } from "../../http/path-params.ts";
import { type Call, type Reply, type Route, ok } from "../../http/route.ts";
import type { DescribedUsage, TenantUsage } from "../../services/usage-service.ts";
import type { Services } from "../../services/services.ts";
import { MOST_DESCRIBED, NOT_KEPT, STATE as described } from "./state-descriptions.ts";

const DEFAULT_COLLECTIONS = 100;

export function usageRoutes({ usage }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/api/v2/tenants/:tenant/usage",
      description: described.usage,
      scope: "read",
      tenant: "path",
      async handle({ params, query, principal, budget }: Call): Promise<Reply> {
        const { limit, offset } = parsePage(query);
        const wanted = { limit: Math.min(limit ?? DEFAULT_COLLECTIONS, MOST_DESCRIBED), offset };
        const of = { tenant: tenantParam(params), database: principal.database, ...wanted };
        return ok(writeUsage(of.tenant, await usage.of(of, budget)), NOT_KEPT);
      },
    },
  ];
}

function writeUsage(tenant: string, { described, tokensToday, ...amounts }: TenantUsage): string {
  return JSON.stringify({
    tenant,
    ...amounts,
    tokens_today: tokensToday,
    described: described.map(writeCollectionUsage),
  });
}

function writeCollectionUsage(usage: DescribedUsage): object {
  const { id, name, database, dimension, held, totalOperations, indexedOperations } = usage;
  const written = held?.writtenAt ?? null;
  return {
    ...{ id, name, database, dimension },
    ...{ records: held?.records ?? null, bytes: held?.bytes ?? null },
    last_write_at: written === null ? null : new Date(written).toISOString(),
    ...{ total_ops: totalOperations, num_indexed_ops: indexedOperations },
  };
}
