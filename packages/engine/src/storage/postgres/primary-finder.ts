/**
 * Which of several hosts is the primary: the one that takes writes. All are asked at once, so that one that does not answer
 * costs no time. What was found stays in use until a connection to it fails.
 */
import { Client, type ClientBase, type ClientConfig } from "pg";
import { IS_READ_ONLY } from "./statements.ts";

export interface PostgresHost {
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
}

/** Callers that fail at the same time share what was found; and while none takes writes, hosts are asked this often. */
const FRESH_MS = 50;

export class PrimaryFinder {
  readonly #hosts: readonly PostgresHost[];
  readonly #config: ClientConfig;
  #found: PostgresHost | null = null;
  #foundAt = -Infinity;
  #finding: Promise<PostgresHost | null> | null = null;

  /** @param config Of a connection; its host does not count. */
  constructor(hosts: readonly PostgresHost[], config: ClientConfig) {
    this.#hosts = hosts;
    this.#config = config;
  }

  /** As a moment ago. `null`: none takes writes, or none answers. */
  find(): Promise<PostgresHost | null> {
    if (performance.now() - this.#foundAt < FRESH_MS) return Promise.resolve(this.#found);
    return (this.#finding ??= this.#ask().finally(() => void (this.#finding = null)));
  }

  async #ask(): Promise<PostgresHost | null> {
    const asked = this.#hosts.map((host) => this.#probe(host));
    this.#found = await Promise.any(asked).catch(() => null);
    this.#foundAt = performance.now();
    return this.#found;
  }

  async #probe(host: PostgresHost): Promise<PostgresHost> {
    const client = new Client({ ...this.#config, ...host });
    client.on("error", () => {});
    try {
      await client.connect();
      await requirePrimary(client);
      return host;
    } finally {
      // Where it hangs, this ends after the time that a connection may take, and nobody waits for it.
      client.end().catch(() => {});
    }
  }
}

/** Throws where the server is a standby. */
export async function requirePrimary(client: ClientBase): Promise<void> {
  const { rows } = await client.query<Record<string, unknown>>(IS_READ_ONLY);
  if (rows[0]?.["transaction_read_only"] !== "off")
    throw new Error("the connection is to a server that takes no writes");
}
