/** How many records a collection has, match a filter, or have which values. */
import { parseReadLevel, writeFacet } from "@sheaf/protocol";
import { collectionParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { RECORDS } from "./record-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";
const READ = { scope: "read", tenant: "path" } as const;
const EVERYTHING = { ids: null, where: null };

export function countRoutes({ engine, lists }: Services): readonly Route[] {
  return [
    {
      ...READ,
      method: "GET",
      path: `${COLLECTION}/count`,
      description: RECORDS.count,
      async handle({ params, query, budget }) {
        parseReadLevel(query["read_level"]);
        return ok(String(await engine().count(collectionParams(params), EVERYTHING, budget)));
      },
    },
    {
      ...READ,
      method: "POST",
      path: `${COLLECTION}/count`,
      description: RECORDS.countMatches,
      extension: "POST /count",
      async handle(call) {
        const ref = collectionParams(call.params);
        return ok(String(await engine().count(ref, await call.parse("count"), call.budget)));
      },
    },
    {
      ...READ,
      method: "POST",
      path: `${COLLECTION}/facets`,
      description: RECORDS.facets,
      extension: "POST /facets",
      async handle(call) {
        const { params, budget } = call;
        const ref = collectionParams(params);
        const items = await engine().facets(ref, await call.parse("facets"), budget);
        return ok(await lists.object({ tenant: ref.tenant, budget }, items, writeFacet));
      },
    },
  ];
}
