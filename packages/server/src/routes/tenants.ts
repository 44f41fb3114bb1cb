/** Tenants: making, changing, listing and removing them takes a key that is bound to none. */
import type { ListBatch, ListPage } from "@sheaf/engine";
import { DEFAULT_TENANT, SheafError, type Tenant, writeTenant } from "@sheaf/protocol";
import { listPage } from "../http/list-page.ts";
import { tenantParam } from "../http/path-params.ts";
import { DONE, type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { TENANTS as described } from "./tenant-descriptions.ts";

const TENANTS = "/api/v2/tenants";
const TENANT = "/api/v2/tenants/:tenant";

export interface TenantOptions {
  /** Whoever may remove everything may remove the defaults too. */
  readonly allowReset: boolean;
}

export function tenantRoutes({ engine, lists }: Services, { allowReset }: TenantOptions): readonly Route[] {
  return [
    {
      method: "POST",
      path: TENANTS,
      description: described.create,
      scope: "admin",
      tenant: "unbound",
      async handle(call) {
        const { name } = await call.parse("createTenant");
        await engine().createTenant(name);
        return DONE;
      },
    },
    {
      method: "GET",
      path: TENANTS,
      description: described.list,
      scope: "admin",
      tenant: "unbound",
      handle(call) {
        const fetch = (page: ListPage): Promise<ListBatch<Tenant>> => engine().listTenants(page);
        const tenant = call.budget.owner;
        return listPage(lists, call, { tenant, fetch, write: (item) => [writeTenant(item)] });
      },
    },
    {
      method: "GET",
      path: TENANT,
      description: described.get,
      scope: "read",
      tenant: "path",
      async handle({ params }) {
        return ok(writeTenant(await engine().getTenant(tenantParam(params))));
      },
    },
    {
      method: "PATCH",
      path: TENANT,
      description: described.update,
      scope: "admin",
      tenant: "unbound",
      async handle(call) {
        const { resourceName } = await call.parse("updateTenant");
        await engine().updateTenant(tenantParam(call.params), resourceName);
        return DONE;
      },
    },
    {
      method: "DELETE",
      path: TENANT,
      description: described.delete,
      scope: "admin",
      tenant: "unbound",
      async handle({ params, budget }) {
        const tenant = tenantParam(params);
        if (!allowReset && tenant === DEFAULT_TENANT) {
          throw new SheafError(
            "protected",
            `Tenant [${tenant}] cannot be deleted: clients use it unless told otherwise; --allow-reset on allows it`,
          );
        }
        budget.outlastAccess();
        await engine().deleteTenant(tenant);
        return DONE;
      },
    },
  ];
}
