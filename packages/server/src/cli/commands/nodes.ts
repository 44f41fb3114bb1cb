/** `sheaf nodes`: the nodes of a cluster, as the server knows them that is asked. */
import type { Command } from "../command.ts";
import { printColumns } from "../print-columns.ts";
import { SERVER_OPTIONS, askServer } from "../server-request.ts";

/** As the server describes a node. */
interface NodeReply {
  readonly role: string;
  readonly address: string | null;
  readonly version: string | null;
  readonly silent_seconds: number;
}

const HEADING = ["role", "address", "version", "last seen"];

export const nodes: Command = {
  name: "nodes",
  summary: "List the nodes of a cluster: role, address, version, and when each was last seen.",
  options: SERVER_OPTIONS,
  notes:
    "Ask a gateway, or a server with --node-listen. A node that has been silent for 15 s is not called any more; an index node is called by nobody.",
  async run(options) {
    // It is asked where something is wrong: what that is comes at once, and not after half a minute of attempts.
    const request = { method: "GET", path: "/api/v2/nodes", repeatable: false } as const;
    const found = await askServer<readonly NodeReply[]>(request, options);
    if (options["json"] !== undefined) console.log(JSON.stringify(found, null, 2));
    else if (found.length === 0) console.log("no nodes");
    else printColumns([HEADING, ...found.map(cellsOf)]);
    return 0;
  },
};

function cellsOf({ role, address, version, silent_seconds }: NodeReply): readonly string[] {
  return [role, address ?? "-", version ?? "-", `${silent_seconds} s ago`];
}
