/** A server that gateways call: it listens for them, and makes itself known in the database. */
import { type EngineLog, type ListedNode, NodeDirectory, type NodeRole, addressesOf } from "@sheaf/engine";
import type { ClusterEmbedder } from "@sheaf/inference";
import { type PeerAddress, PeerListener, type PeerService, ServedPeers, peerName } from "@sheaf/process";
import type { Logger } from "pino";
import type { Settings } from "../config.ts";
import { listenError } from "../listen-error.ts";
import { advertisedOf, clusterSecretOf } from "../settings/cluster-settings.ts";
import { databaseOf } from "../settings/database-settings.ts";

/** Between two lines about connections that were refused, which anybody can cause. */
const REFUSALS_MS = 60_000;

export class ClusterNode {
  readonly #listener: PeerListener;
  readonly #served: ServedPeers;
  readonly #directory: NodeDirectory;

  private constructor(listener: PeerListener, served: ServedPeers, directory: NodeDirectory) {
    this.#listener = listener;
    this.#served = served;
    this.#directory = directory;
  }

  /**
   * Rejects where the address cannot be listened on, or the database not be reached.
   *
   * @param embedder Of a node that has texts embedded by others.
   */
  static async start(
    settings: Settings,
    { service, embedder }: { readonly service: PeerService; readonly embedder: ClusterEmbedder | null },
    logger: Logger,
  ): Promise<ClusterNode> {
    const { nodeListen, role } = settings;
    const { database } = databaseOf(settings);
    if (nodeListen === null || database === undefined) throw new RangeError("the server is no node");
    const onUnexpected = (err: unknown): void => logger.error({ err }, "unexpected error");
    const served = new ServedPeers(service, onUnexpected);
    const directory = await NodeDirectory.open(database, engineLog(logger));
    let node: ClusterNode | null = null;
    try {
      const cluster = await directory.cluster();
      const listener = await listen(settings, { ...nodeListen, cluster }, served, logger);
      node = new ClusterNode(listener, served, directory);
      const url = peerName(advertisedOf(settings, { ...nodeListen, port: listener.port }));
      await directory.register({ url, role: role as NodeRole });
      if (embedder !== null)
        await directory.watch((nodes) => embedder.update(addressesOf(nodes, "embed", cluster)));
      logger.info({ url, role }, "other servers may call this server");
      return node;
    } catch (error) {
      await (node ?? directory).close();
      throw error;
    }
  }

  /** As `ListNodes`. */
  list(): Promise<readonly ListedNode[]> {
    return this.#directory.list();
  }

  /** Gateways ask others from now on. Resolves when their calls under way are answered, or the time is over. */
  async leave(graceMs: number): Promise<void> {
    this.#listener.refuseNew();
    await Promise.all([this.#served.leave(graceMs), this.#directory.leave()]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#listener.close(), this.#directory.close()]);
  }
}

function listen(
  settings: Settings,
  place: PeerAddress,
  served: ServedPeers,
  logger: Logger,
): Promise<PeerListener> {
  return PeerListener.open({
    ...place,
    secret: clusterSecretOf(settings),
    onPeer: (channel) => served.serve(channel),
    onRefused: refusalLog(logger),
  }).catch((error: unknown) => {
    const flags = { host: "--node-listen", port: "--node-listen" };
    throw listenError(error, { ...place, flags });
  });
}

export function engineLog(logger: Logger): EngineLog {
  return ({ level, message, ...details }) => logger[level](details, message);
}

function refusalLog(logger: Logger): (reason: string, address: string) => void {
  let refused = 0;
  let toldAt = -Infinity;
  return (reason, address) => {
    refused += 1;
    const now = performance.now();
    if (now - toldAt < REFUSALS_MS) return;
    toldAt = now;
    logger.warn(
      { refused, reason, address },
      "refused connections to the node port; the newest one is named",
    );
    refused = 0;
  };
}
