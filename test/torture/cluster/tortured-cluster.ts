/**
 * What is tortured: search nodes on caches of their own, gateways that ask them, an index node, a PostgreSQL
 * primary with a synchronous standby, and an object store. Servers reach the database, and gateways the servers, through proxies that cut connections.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ObjectServer } from "../../../packages/engine/src/storage/objects/testing/object-server.ts";
import {
  APPEND,
  COMMIT,
  type Cut,
  CuttingProxy,
} from "../../../packages/engine/src/storage/postgres/testing/cutting-proxy.ts";
import { PostgresPair } from "../../../packages/engine/src/storage/postgres/testing/postgres-pair.ts";
import { PASSWORD, urlOf } from "../../../packages/engine/src/storage/postgres/testing/postgres-server.ts";
import { freePort } from "../../../scripts/free-port.ts";
import type { Choices } from "../choices.ts";
import { type Answer, type Request, type Target, TorturedServer } from "../tortured-server.ts";

const CUTS: readonly Cut[] = ["before", "during", "after", "late"];
const CUT_SHARE = 0.2;
/** A request whose answer was lost may still be under way in the database: what is late comes within this time. */
const SETTLE_MS = 400;
/** One that a gateway gave up may be under way on a server that is paused, too, which goes on after 1.2 s at most. */
const GATEWAY_SETTLE_MS = 2_000;
const TOO_MANY_OTHERS = 429;

const SECRET = "cluster-secret-for-tests-only-0123456789";
const GATEWAYS = 2;

interface Place {
  readonly data: string;
  readonly env: Readonly<Record<string, string>>;
  /** `null`: it was killed. */
  server: TorturedServer | null;
}

interface Parts {
  readonly database: PostgresPair;
  readonly objects: ObjectServer;
  /** Before the database's hosts. */
  readonly proxies: readonly CuttingProxy[];
  /** Before the servers' node ports. */
  readonly nodePorts: readonly CuttingProxy[];
  readonly servers: readonly Place[];
  readonly gateways: readonly Place[];
  readonly indexNode: Place;
}

export class TorturedCluster {
  readonly database: PostgresPair;
  readonly objects: ObjectServer;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.database = parts.database;
    this.objects = parts.objects;
    this.#parts = parts;
  }

  /** @param data A folder that is empty. */
  static async start(data: string, servers: number): Promise<TorturedCluster> {
    const [database, objects] = await Promise.all([PostgresPair.start(), ObjectServer.start()]);
    const proxies = await Promise.all(database.ports.map((port) => CuttingProxy.start(port)));
    const ports = await Promise.all(Array.from({ length: servers }, () => freePort()));
    const nodePorts = await Promise.all(ports.map((port) => CuttingProxy.start(port)));
    const shared = {
      SHEAF_DATABASE: urlOf(proxies.map(({ port }) => port)),
      PGPASSWORD: PASSWORD,
      SHEAF_CLUSTER_SECRET: SECRET,
      // Records are written down, and read behind the calls, although there are few.
      SHEAF_DATABASE_CHECKPOINT_BYTES: String(64 * 1024),
    };
    const stored = objectsEnv(objects);
    const placeOf = (name: string, env: Readonly<Record<string, string>>): Place => ({
      ...{ data: join(data, name), env: { ...shared, ...env }, server: null },
    });
    const cluster = new TorturedCluster({
      ...{ database, objects, proxies, nodePorts },
      servers: ports.map((port, i) =>
        placeOf(`${i}`, {
          ...stored,
          SHEAF_ROLE: "search",
          SHEAF_NODE_LISTEN: `127.0.0.1:${port}`,
          SHEAF_NODE_ADVERTISE: `127.0.0.1:${nodePorts[i]!.port}`,
        }),
      ),
      gateways: Array.from({ length: GATEWAYS }, (_, i) =>
        placeOf(`gateway-${i}`, { SHEAF_ROLE: "gateway", SHEAF_LOCAL_MODELS: "off" }),
      ),
      indexNode: placeOf("index", { ...stored, SHEAF_ROLE: "index" }),
    });
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
    return livingOf(this.#parts.servers);
  }

  get gateways(): readonly TorturedServer[] {
    return livingOf(this.#parts.gateways);
  }

  /** `undefined`: it was killed. */
  get indexNode(): TorturedServer | undefined {
    return livingOf([this.#parts.indexNode])[0];
  }

  /** Collections that the index node has worked at. */
  async indexed(): Promise<number> {
    return (await this.database.primary.query("select 1 from sheaf.index_job where at is not null")).length;
  }

  /** Index files that came to the object store. */
  get published(): number {
    return this.objects.calls.filter((call) => call.startsWith("PUT ") && call.includes(".seg")).length;
  }

  /** Sends each request to one of the servers and gateways that live. */
  target(choices: Choices): Target {
    const send = async (request: Request): Promise<Answer> => {
      const asked = choices.one([...this.servers, ...this.gateways]);
      const isGateway = this.gateways.includes(asked);
      const answer = await asked.send(request);
      if (answer.outcome === "answered" && answer.status !== TOO_MANY_OTHERS) return answer;
      await sleep(isGateway ? GATEWAY_SETTLE_MS : SETTLE_MS);
      return { outcome: "unavailable" };
    };
    return { isInterrupted: true, send };
  }

  async killServer(choices: Choices, { emptyDisk = false } = {}): Promise<void> {
    const place = choices.one(this.#parts.servers);
    await kill(place);
    if (emptyDisk) await rm(place.data, { recursive: true, force: true });
  }

  async killGateway(choices: Choices): Promise<void> {
    await kill(choices.one(this.#parts.gateways));
  }

  async killIndexNode(): Promise<void> {
    await kill(this.#parts.indexNode);
  }

  /** Gateways do not reach one of the servers, until what it gives is called. */
  cutNode(choices: Choices): () => void {
    const port = choices.one(this.#parts.nodePorts);
    port.cutAll();
    return () => {
      port.refuses = false;
    };
  }

  /** Starts those that were killed. */
  async restartServers(): Promise<void> {
    const options = { indexFiles: "on", sharedStores: "on", losesIndexFiles: false };
    await Promise.all(
      this.#places.map(async (place) => {
        if (place.server !== null) return;
        await mkdir(place.data, { recursive: true });
        place.server = await TorturedServer.boot(place.data, { ...options, env: place.env });
      }),
    );
  }

  /** Some of the connections, at a COMMIT of the catalog or at an append, until `stopCutting`. */
  cutConnections(choices: Choices): void {
    const cutsAt = choices.one([APPEND, COMMIT]);
    for (const proxy of this.#parts.proxies) {
      proxy.cutsAt = cutsAt;
      proxy.onCommit = () => (choices.chance(CUT_SHARE) ? choices.one(CUTS) : null);
    }
  }

  stopCutting(): void {
    for (const proxy of this.#parts.proxies) proxy.onCommit = () => null;
  }

  async close(): Promise<void> {
    const { proxies, nodePorts } = this.#parts;
    await Promise.all(livingOf(this.#places).map((server) => server.kill("group")));
    await Promise.all([...proxies, ...nodePorts].map((proxy) => proxy.close()));
    await Promise.all([this.database.close(), this.objects.close()]);
  }

  get #places(): readonly Place[] {
    const { servers, gateways, indexNode } = this.#parts;
    return [...servers, ...gateways, indexNode];
  }
}

function livingOf(places: readonly Place[]): readonly TorturedServer[] {
  return places.flatMap(({ server }) => server ?? []);
}

async function kill(place: Place): Promise<void> {
  const { server } = place;
  place.server = null;
  await server?.kill("group");
}

function objectsEnv(objects: ObjectServer): Readonly<Record<string, string>> {
  const { endpoint, bucket, prefix, accessKeyId, secretAccessKey } = objects.settings();
  return {
    SHEAF_OBJECTS: `s3://${bucket}/${prefix}`,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}
