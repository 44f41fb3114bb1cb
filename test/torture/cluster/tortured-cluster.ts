/**
 * What is tortured: servers on caches of their own, and a PostgreSQL primary with a synchronous standby. Servers reach both
 * through proxies that cut connections.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  APPEND,
  COMMIT,
  type Cut,
  CuttingProxy,
} from "../../../packages/engine/src/storage/postgres/testing/cutting-proxy.ts";
import { PostgresPair } from "../../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { PASSWORD, urlOf } from "../../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import type { Choices } from "../choices.ts";
import { type Answer, type Request, type Target, TorturedServer } from "../tortured-server.ts";

const CUTS: readonly Cut[] = ["before", "during", "after", "late"];
const CUT_SHARE = 0.2;
/** A request whose answer was lost may still be under way in the database: what is late comes within this time. */
const SETTLE_MS = 400;
const TOO_MANY_OTHERS = 429;

interface Place {
  readonly data: string;
  /** `null`: it was killed. */
  server: TorturedServer | null;
}

export class TorturedCluster {
  readonly database: PostgresPair;
  readonly #proxies: readonly CuttingProxy[];
  readonly #places: readonly Place[];

  private constructor(database: PostgresPair, proxies: readonly CuttingProxy[], places: readonly Place[]) {
    this.database = database;
    this.#proxies = proxies;
    this.#places = places;
  }

  /** @param data A folder that is empty. */
  static async start(data: string, servers: number): Promise<TorturedCluster> {
    const database = await PostgresPair.start();
    const proxies = await Promise.all(database.ports.map((port) => CuttingProxy.start(port)));
    const places = Array.from({ length: servers }, (_, i) => ({ data: join(data, `${i}`), server: null }));
    const cluster = new TorturedCluster(database, proxies, places);
    try {
      await cluster.restartServers();
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  /** Those that live. */
  get servers(): readonly TorturedServer[] {
    return this.#places.flatMap(({ server }) => server ?? []);
  }

  /** Sends each request to one of the servers that live. */
  target(choices: Choices): Target {
    const send = async (request: Request): Promise<Answer> => {
      const answer = await choices.one(this.servers).send(request);
      if (answer.outcome === "answered" && answer.status !== TOO_MANY_OTHERS) return answer;
      await sleep(SETTLE_MS);
      return { outcome: "unavailable" };
    };
    return { isInterrupted: true, send };
  }

  async killServer(choices: Choices, { emptyDisk = false } = {}): Promise<void> {
    const place = choices.one(this.#places);
    const { server, data } = place;
    place.server = null;
    await server?.kill("group");
    if (emptyDisk) await rm(data, { recursive: true, force: true });
  }

  /** Starts those that were killed. */
  async restartServers(): Promise<void> {
    const env = {
      SHEAF_DATABASE: urlOf(this.#proxies.map(({ port }) => port)),
      PGPASSWORD: PASSWORD,
    };
    const options = { indexFiles: "on", sharedStores: "on", losesIndexFiles: false, env };
    await Promise.all(
      this.#places.map(async (place) => {
        if (place.server !== null) return;
        await mkdir(place.data, { recursive: true });
        place.server = await TorturedServer.boot(place.data, options);
      }),
    );
  }

  /** Some of the connections, at a COMMIT of the catalog or at an append, until `stopCutting`. */
  cutConnections(choices: Choices): void {
    const cutsAt = choices.one([APPEND, COMMIT]);
    for (const proxy of this.#proxies) {
      proxy.cutsAt = cutsAt;
      proxy.onCommit = () => (choices.chance(CUT_SHARE) ? choices.one(CUTS) : null);
    }
  }

  stopCutting(): void {
    for (const proxy of this.#proxies) proxy.onCommit = () => null;
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill("group")));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
    await this.database.close();
  }
}
