/** What a collection remembers of its models: taking the weights that the server has now. */
import type { ModelIdentity } from "@sheaf/protocol";
import { collectionParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { AcceptedModel } from "../services/model-service.ts";
import type { Services } from "../services/services.ts";
import { COLLECTIONS as described } from "./collection-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";

export function collectionModelRoutes({ models }: Services): readonly Route[] {
  return [
    {
      method: "POST",
      path: `${COLLECTION}/accept-model`,
      description: described.acceptModel,
      scope: "write",
      tenant: "path",
      async handle({ params, budget }) {
        const accepted = await models.accept(collectionParams(params), budget.signal);
        return ok(JSON.stringify({ accepted: accepted.map(toJson) }));
      },
    },
  ];
}

function toJson({ before, now }: AcceptedModel): object {
  return { model: now.identifier, ...weights(now), before: weights(before) };
}

function weights({ revision, digest }: ModelIdentity): { revision: string; digest: string } {
  return { revision, digest };
}
