/** What a server has that keeps nothing itself: an engine that asks search nodes, and the directory where it finds them. */
import { ClusterEngine, type ListedNode, NodeDirectory, addressesOf } from "@sheaf/engine";
import type { ClusterEmbedder } from "@sheaf/inference";
import type { Logger } from "pino";
import type { Settings } from "../config.ts";
import type { NodeMeasure } from "../metrics/server-metrics.ts";
import type { CatalogFeed } from "../services/catalog-feed.ts";
import { clusterSecretOf } from "../settings/cluster-settings.ts";
import { databaseOf } from "../settings/database-settings.ts";
import { engineLog } from "./cluster-node.ts";

/** How long a gateway that starts waits for its first node; later callers hear 503 until there is one. */
const FIRST_NODE_MS = 3_000;
const LOOK_MS = 20;

export class ClusterGateway {
  readonly engine: ClusterEngine;
  readonly #embedder: ClusterEmbedder;
  readonly #settings: Settings;
  readonly #logger: Logger;
  #directory: NodeDirectory | null = null;
  #indexNodes = 0;

  constructor(settings: Settings, embedder: ClusterEmbedder, logger: Logger) {
    this.#embedder = embedder;
    this.#settings = settings;
    this.#logger = logger;
    const { readReplicas } = settings;
    this.engine = new ClusterEngine({
      ...{ secret: clusterSecretOf(settings), readReplicas, log: engineLog(logger) },
    });
  }

  /**
   * Rejects where the database cannot be reached.
   *
   * @param catalog Hears of what other servers change.
   */
  async start(catalog: CatalogFeed | null): Promise<ClusterEngine> {
    const { database } = databaseOf(this.#settings);
    if (database === undefined) throw new RangeError("a gateway needs a database");
    this.#directory = await NodeDirectory.open(database, engineLog(this.#logger));
    const cluster = await this.#directory.cluster();
    await this.#directory.watch((nodes) => {
      this.engine.update(addressesOf(nodes, "search", cluster));
      this.#indexNodes = nodes.filter(({ role }) => role === "index").length;
      this.#embedder.update(addressesOf(nodes, "embed", cluster));
    });
    if (catalog !== null) await this.#directory.watchCatalog(catalog.tell);
    const until = performance.now() + FIRST_NODE_MS;
    while (!this.engine.responsive && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (!this.engine.responsive) this.#logger.warn("no search node can be reached yet");
    return this.engine;
  }

  /** As `ListNodes`. */
  async list(): Promise<readonly ListedNode[] | null> {
    return this.#directory?.list() ?? null;
  }

  /** Nodes, as far as is known. */
  get measure(): NodeMeasure {
    return { search: this.engine.openNodes, index: this.#indexNodes };
  }

  async close(): Promise<void> {
    await Promise.all([this.#directory?.close(), this.engine.close()]);
  }
}
