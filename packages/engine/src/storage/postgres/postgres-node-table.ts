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

/** As whoever runs the cluster sees it. */
export interface ListedNode {
  readonly role: NodeRole;
  /** `null`: nobody calls it. */
  readonly address: string | null;
  /** `null`: it is of a version that does not say. */
  readonly version: string | null;
  readonly seenAt: Date;
  /** Since then, by the database's clock. */
  readonly silentSeconds: number;
}

export class PostgresNodeTable {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

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

  /** Makes the node known, or says that it is still there. */
  async register(id: string, { url, role }: KnownNode, version: string | null = null): Promise<void> {
    await this.#change(this.#database.statements.node.register, [id, url, role, version]);
  }

  async leave(id: string): Promise<void> {
    await this.#change(this.#database.statements.node.leave, [id]);
  }

  /** Those that have said so within the last 15 s. */
  async seen(): Promise<readonly KnownNode[]> {
    const rows = await this.#database.read(this.#database.statements.node.seen);
    return rows.map((row) => ({ url: String(row["url"]), role: row["role"] as NodeRole }));
  }

  /** All that have said so within an hour or longer, and have not left. */
  async list(): Promise<readonly ListedNode[]> {
    const rows = await this.#database.read(this.#database.statements.node.list);
    return rows.map((row) => {
      const role = row["role"] as NodeRole;
      return {
        role,
        // In its place an index node has what tells it from others.
        address: role === "index" ? null : String(row["url"]),
        version: row["version"] as string | null,
        seenAt: row["seen"] as Date,
        silentSeconds: Math.max(0, Number(row["silent"])),
      };
    });
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
