/** Whether there are index nodes, for a server that leaves publications, checkpoints and sweeps to them. */
import type { PostgresNodeTable } from "../storage/postgres/postgres-node-table.ts";
import { UpkeepRounds } from "../upkeep-rounds.ts";

/** Looks within the time that a node counts as there without a sign of life. */
const LOOKS = 4;

export interface IndexNodesOptions {
  readonly nodes: Pick<PostgresNodeTable, "hasIndexNode">;
  /** How long a node counts as there after its last sign of life. */
  readonly claimMs: number;
}

export class IndexNodes {
  readonly #looks: UpkeepRounds;
  #areThere = false;

  /** Looks until it is closed. */
  constructor({ nodes, claimMs }: IndexNodesOptions) {
    this.#looks = new UpkeepRounds(0, async () => {
      // What was known stays: while the database is away nobody publishes anything.
      this.#areThere = await nodes.hasIndexNode(claimMs).catch(() => this.#areThere);
      return claimMs / LOOKS;
    });
  }

  /** As far as is known; a node that has died counts for a while. */
  get areThere(): boolean {
    return this.#areThere;
  }

  close(): Promise<void> {
    return this.#looks.close();
  }
}
