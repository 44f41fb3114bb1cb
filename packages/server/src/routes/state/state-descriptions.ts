/** What the API description says of the routes that show how the server and its tenants are. */
import { type RouteDescription, answers } from "../../http/route-description.ts";
import { Type } from "../../openapi/json-schema.ts";
import { count, ref } from "../../openapi/schema-parts.ts";
import { PAGE } from "../tenant-descriptions.ts";

/** It is another a moment later, and whose it is nobody on the way need know. */
export const NOT_KEPT = Object.freeze({ "cache-control": "no-store" });

/** Collections of one reply, so that it stays below a MiB or two. */
export const MOST_DESCRIBED = 1_000;

export const STATE = {
  usage: {
    summary: "What a tenant has, and what it may have",
    details:
      "As of some second ago. Sums are of all collections that the key may see: of a key that is bound to a database, of that " +
      "one, and without the tenant's quotas.",
    tag: "Tenants",
    query: {
      limit: count(
        `Collections that are described one by one: 100 if it is left out, never more than ${MOST_DESCRIBED}.`,
      ),
      offset: PAGE.offset,
    },
    replies: answers(ref("TenantUsage")),
    errors: ["not_found"],
  },
  models: {
    summary: "List models",
    tag: "Embedding",
    replies: answers(Type.Array(ref("Model")), "Every model that the server knows."),
  },
  pull: {
    summary: "Fetch the weights of a model",
    details: "In the background; the list of models says how far it is. 200 where the weights are here.",
    tag: "Embedding",
    body: ref("PullBody"),
    replies: {
      200: { description: "The weights are here.", schema: ref("Model") },
      202: { description: "They are on their way.", schema: ref("Model") },
    },
    errors: ["failed_precondition"],
  },
  currentKey: { summary: "What the key may do", tag: "Keys", replies: answers(ref("CurrentKey")) },
  nodes: {
    summary: "List the nodes of the cluster",
    details:
      "As the database has them: those that were lost for an hour or so, and none that has left. 412 but at a gateway, or a server with `--node-listen`.",
    tag: "System",
    replies: answers(Type.Array(ref("Node")), "By role, and there by address."),
    errors: ["failed_precondition"],
  },
  history: {
    summary: "The last hour of the server",
    tag: "System",
    replies: answers(ref("MetricsHistory")),
  },
} as const satisfies Record<string, RouteDescription>;
