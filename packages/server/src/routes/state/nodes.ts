/** The nodes of the cluster, to a key that is bound to no tenant: they are the operator's. */
import type { ListedNode } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import { type Route, ok } from "../../http/route.ts";
import type { Services } from "../../services/services.ts";
import { NOT_KEPT, STATE as described } from "./state-descriptions.ts";

export function nodeRoutes({ nodes }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/api/v2/nodes",
      description: described.nodes,
      scope: "admin",
      tenant: "unbound",
      handle: async () => ok(JSON.stringify((await requireSome(nodes())).map(describeNode)), NOT_KEPT),
    },
  ];
}

async function requireSome(asked: ReturnType<Services["nodes"]>): Promise<readonly ListedNode[]> {
  const nodes = await asked;
  if (nodes !== null) return nodes;
  const words = "this server knows no nodes: ask a gateway of the cluster, or a server with --node-listen";
  throw new SheafError("failed_precondition", words);
}

function describeNode({ role, address, version, seenAt, silentSeconds }: ListedNode): object {
  const silent = Math.round(silentSeconds);
  return { role, address, version, last_seen_at: seenAt.toISOString(), silent_seconds: silent };
}
