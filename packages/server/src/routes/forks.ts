/** Forks of a collection: making one, and how many its tree has seen. */
import { collectionParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { COLLECTIONS as described } from "./collection-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";

export function forkRoutes({ engine, lists }: Services): readonly Route[] {
  return [
    {
      method: "POST",
      path: `${COLLECTION}/fork`,
      description: described.fork,
      scope: "write",
      tenant: "path",
      async handle(call) {
        const ref = collectionParams(call.params);
        const { newName } = await call.parse("forkCollection");
        call.budget.expectCopy();
        const { budget } = call;
        const fork = await engine().forkCollection(ref, newName, budget);
        return ok(await lists.collection({ tenant: ref.tenant, budget }, () => Promise.resolve(fork)));
      },
    },
    {
      method: "GET",
      path: `${COLLECTION}/fork_count`,
      description: described.forkCount,
      scope: "read",
      tenant: "path",
      async handle({ params }) {
        return ok(JSON.stringify({ count: await engine().forkCount(collectionParams(params)) }));
      },
    },
  ];
}
