/** A collection by its resource name, `tenant_resource:database:collection`. */
import { invalid } from "@sheaf/protocol";
import type { PathParams } from "../auth/authorize.ts";
import { collectionNameParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { Services } from "../services/services.ts";
import { COLLECTIONS as described } from "./collection-descriptions.ts";

export function resourceNameRoutes({ engine, lists }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/api/v2/collections/:crn",
      description: described.getByCrn,
      scope: "read",
      tenant: "located",
      locate: (params) => locate(engine, params["crn"] ?? ""),
      async handle({ params, budget }) {
        const ref = collectionNameParams(params);
        const { tenant } = ref;
        return ok(await lists.collection({ tenant, budget }, () => engine().getCollectionByName(ref)));
      },
    },
  ];
}

/** The names that the resource name stands for. A tenant that is not there keeps the name it was given. */
async function locate(engine: EngineSource, crn: string): Promise<PathParams> {
  const parts = crn.split(":");
  const [collection, database] = [parts.pop(), parts.pop()];
  // The name of a tenant may hold colons, the other two may not.
  const resource = parts.join(":");
  if (!collection || !database || !resource) {
    throw invalid("crn", "must be tenant_resource:database:collection");
  }
  return { tenant: (await engine().resolveTenant(resource)) ?? resource, database, collection };
}
