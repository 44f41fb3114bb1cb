/** Databases of a tenant. */
import type { ListBatch, ListPage } from "@sheaf/engine";
import { DEFAULT_DATABASE, DEFAULT_TENANT, type Database, SheafError, writeDatabase } from "@sheaf/protocol";
import { listPage } from "../http/list-page.ts";
import { databaseParams, tenantParam } from "../http/path-params.ts";
import { DONE, type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { DATABASES as described } from "./tenant-descriptions.ts";
import type { TenantOptions } from "./tenants.ts";

const DATABASES = "/api/v2/tenants/:tenant/databases";
const DATABASE = `${DATABASES}/:database`;

export function databaseRoutes({ engine, lists }: Services, { allowReset }: TenantOptions): readonly Route[] {
  return [
    {
      method: "POST",
      path: DATABASES,
      description: described.create,
      scope: "admin",
      tenant: "path",
      async handle(call) {
        const { name } = await call.parse("createDatabase");
        await engine().createDatabase({ tenant: tenantParam(call.params), database: name });
        return DONE;
      },
    },
    {
      method: "GET",
      path: DATABASES,
      description: described.list,
      scope: "read",
      tenant: "path",
      async handle(call) {
        const tenant = tenantParam(call.params);
        const { database } = call.principal;
        const fetch = async (page: ListPage): Promise<ListBatch<Database>> =>
          database === null
            ? engine().listDatabases(tenant, page)
            : { items: [await engine().getDatabase({ tenant, database })], next: null };
        return listPage(lists, call, { tenant, fetch, write: (item) => [writeDatabase(item)] });
      },
    },
    {
      method: "GET",
      path: DATABASE,
      description: described.get,
      scope: "read",
      tenant: "path",
      async handle({ params }) {
        return ok(writeDatabase(await engine().getDatabase(databaseParams(params))));
      },
    },
    {
      method: "DELETE",
      path: DATABASE,
      description: described.delete,
      scope: "admin",
      tenant: "path",
      async handle({ params, budget }) {
        const ref = databaseParams(params);
        if (!allowReset && ref.tenant === DEFAULT_TENANT && ref.database === DEFAULT_DATABASE) {
          throw new SheafError(
            "protected",
            `Database [${ref.database}] cannot be deleted: clients use it unless told otherwise; --allow-reset on allows it`,
          );
        }
        budget.outlastAccess();
        await engine().deleteDatabase(ref);
        return DONE;
      },
    },
  ];
}
