/** Writes a set into a collection in batches, and waits until a server has nothing left to do. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, ownMebibytes } from "../../measure/process-tree.ts";
import { succeeded } from "../http-client.ts";
import { type WriteForm, writeBody } from "./requests.ts";
import type { SearchSet } from "./search-set.ts";
import {
  COLLECTION,
  CONFIGURATION,
  type ServerUnderTest,
  createCollection,
} from "../servers/server-under-test.ts";

const BATCH = 1_000;
/** A server that uses less of a core is at rest. */
const RESTING_SHARE = 0.04;
const LOOK_MS = 500;
/** Looks in a row that find it at rest. */
const RESTING_LOOKS = 3;
const REST_PATIENCE_MS = 600_000;
const START_PATIENCE_MS = 60_000;

/** What loading a set showed. */
export interface Loading {
  readonly recordsPerSecond: number;
  /** From the last write until nothing is built in the background any more. */
  readonly settleSeconds: number;
  /** Memory of the process tree after that. */
  readonly mebibytes: number;
}

/** Makes a collection with the whole set, in a server that has just been started. */
export async function loadSet(
  server: ServerUnderTest,
  set: SearchSet,
  options: { readonly schema?: object; readonly form?: WriteForm } = {},
): Promise<Loading> {
  const { schema, form } = options;
  await waitForHeartbeat(server);
  const kind = schema === undefined ? { configuration: CONFIGURATION } : { schema };
  const path = await createCollection(server.client, { name: COLLECTION, ...kind });
  const recordsPerSecond = await loadRecords(server, `${path}/add`, set, form);
  const settleSeconds = await waitForRest(server);
  return { recordsPerSecond, settleSeconds, mebibytes: await ownMebibytes(server.pid) };
}

/** Records a second, of the requests alone: bodies are made while the clock stands. */
export async function loadRecords(
  { client }: Pick<ServerUnderTest, "client">,
  path: string,
  set: SearchSet,
  options: WriteForm & { readonly rows?: number } = {},
): Promise<number> {
  const { rows = set.rows } = options;
  let milliseconds = 0;
  for (let from = 0; from < rows; from += BATCH) {
    const body = writeBody(set, from, Math.min(from + BATCH, rows), options);
    const start = performance.now();
    succeeded(await client.post(path, body));
    milliseconds += performance.now() - start;
  }
  return (1_000 * rows) / milliseconds;
}

/** Until the whole process tree rests: what is built in the background is built. Gives the seconds. */
export async function waitForRest({ pid }: Pick<ServerUnderTest, "pid">): Promise<number> {
  const start = performance.now();
  let resting = 0;
  let before = await cpuSeconds(pid);
  while (resting < RESTING_LOOKS) {
    if (performance.now() - start > REST_PATIENCE_MS) throw new Error("the server does not come to rest");
    await sleep(LOOK_MS);
    const now = await cpuSeconds(pid);
    resting = (now - before) / (LOOK_MS / 1_000) < RESTING_SHARE ? resting + 1 : 0;
    before = now;
  }
  return (performance.now() - start - RESTING_LOOKS * LOOK_MS) / 1_000;
}

export async function waitForHeartbeat({ client, name }: ServerUnderTest): Promise<void> {
  const start = performance.now();
  for (;;) {
    const status = await client.get("/api/v2/heartbeat").then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    if (performance.now() - start > START_PATIENCE_MS) throw new Error(`${name} does not start`);
    await sleep(20);
  }
}

/** As `loadSet`; the server is ended in any case. */
export async function loadAndStop(server: ServerUnderTest, set: SearchSet): Promise<Loading> {
  try {
    return await loadSet(server, set);
  } finally {
    await server.stop();
  }
}
