/**
 * A primary and its synchronous standby, which may change places: after a failover the new standby has the address of the old
 * primary. That one is fenced as by a switch: none of its processes lives when the standby is promoted.
 */
import { PostgresServer } from "./postgres-server.ts";

export class PostgresPair {
  /** Of both, in an order that does not change. */
  readonly ports: readonly number[];
  /** It has the programs of all. */
  readonly #first: PostgresServer;
  #primary: PostgresServer;
  #standby: PostgresServer | null;

  private constructor(primary: PostgresServer, standby: PostgresServer) {
    this.#first = primary;
    this.#primary = primary;
    this.#standby = standby;
    this.ports = [primary.port, standby.port];
  }

  /** @param isDurable As `PostgresServer.start`. */
  static async start(isDurable = false): Promise<PostgresPair> {
    const primary = await PostgresServer.start(isDurable);
    try {
      return new PostgresPair(primary, await primary.startStandby());
    } catch (error) {
      await primary.close();
      throw error;
    }
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  get standby(): PostgresServer {
    if (this.#standby === null) throw new Error("there is no standby");
    return this.#standby;
  }

  /** Leaves no standby. */
  async failOver(): Promise<void> {
    const old = this.#primary;
    this.#primary = this.standby;
    this.#standby = null;
    await old.kill();
    await this.#primary.promote();
    if (old !== this.#first) await old.close();
  }

  /** A new one, where there is none. */
  async restoreStandby(): Promise<void> {
    const port = this.ports.find((port) => port !== this.#primary.port);
    this.#standby ??= await this.#primary.startStandby(port);
  }

  /** To what the primary has kept last. */
  async rollBack(): Promise<void> {
    await this.#standby?.close();
    this.#standby = null;
    await this.#primary.rollBack();
    await this.restoreStandby();
  }

  async close(): Promise<void> {
    await this.#standby?.kill();
    await this.#primary.kill();
    await this.#first.close();
  }
}
