/** Where nodes are that do something for other servers. */
import type { KnownNode, NodeRole } from "../storage/postgres/postgres-node-table.ts";
import type { PeerAddress } from "@sheaf/process";

/** A server that does everything answers searches of others; texts are for those that do nothing else. */
const ROLES = { search: ["search", "all"], embed: ["embed"] } as const satisfies Record<
  string,
  readonly NodeRole[]
>;

/** @param cluster Id of their database. */
export function addressesOf(
  nodes: readonly KnownNode[],
  task: keyof typeof ROLES,
  cluster: string | undefined,
): readonly PeerAddress[] {
  const roles: readonly NodeRole[] = ROLES[task];
  return nodes
    .filter(({ url, role }) => roles.includes(role) && URL.canParse(`tcp://${url}`))
    .map(({ url }) => new URL(`tcp://${url}`))
    .map(({ hostname, port }) => ({ host: hostname.replace(/^\[|\]$/gu, ""), port: Number(port), cluster }));
}
