/** The nodes of a cluster, in the database that they share. */
import type { PostgresDatabase } from "./postgres-database.ts";
import { isForbidden } from "./postgres-errors.ts";

/** What a node does for other servers; `all`: it searches for them, and embeds for itself; `index`: it is called by none. */
export type NodeRole = "search" | "embed" | "all" | "index";

export interface KnownNode {
  /** Host and port, as in a URL. */
  readonly url: string;
  readonly role: NodeRole;
}

export class PostgresNodeTable {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Makes the node known, or says that it is still there. */
  async register(id: string, { url, role }: KnownNode): Promise<void> {
    await this.#change(this.#database.statements.node.register, [id, url, role]);
  }

  async leave(id: string): Promise<void> {
    await this.#change(this.#database.statements.node.leave, [id]);
  }

  /** Those that have said so within the last 15 s. */
  async seen(): Promise<readonly KnownNode[]> {
    const rows = await this.#database.read(this.#database.statements.node.seen);
  /** Id of the database, by which its nodes are told from those of another one; `null`: its user may not read it. */
  async cluster(): Promise<string | null> {
    try {
      const [row] = await this.#database.read(this.#database.statements.node.cluster);
      return String(row?.["id"]);
    } catch (error) {
      if (isForbidden(error)) return null;
      throw error;
    }
  }

    return rows.map((row) => ({ url: String(row["url"]), role: row["role"] as NodeRole }));
  }

  /** Whether an index node has said so within this time. */
  async hasIndexNode(withinMs: number): Promise<boolean> {
    return (await this.#database.read(this.#database.statements.node.seenIndexNode, [withinMs])).length > 0;
  }

  /** All of them may be done twice. */
  async #change(text: string, values: readonly unknown[]): Promise<void> {
    await this.#database.retry(() => this.#database.change(text, values));
  }
}
