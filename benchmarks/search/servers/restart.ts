/** From the start of a process to its first answer to a query. */
import { setTimeout as sleep } from "node:timers/promises";
import { COLLECTION, type Launch, type ServerUnderTest, findCollection } from "./server-under-test.ts";

const PATIENCE_MS = 120_000;
const RETRY_MS = 5;

export interface Restarted {
  readonly server: ServerUnderTest;
  readonly milliseconds: number;
  /** Path of the collection. */
  readonly path: string;
}

/** Starts a server on data that is there and asks until it answers. */
export async function timeStart(launch: Launch, dataFolder: string, query: Buffer): Promise<Restarted> {
  const start = performance.now();
  const server = await launch(dataFolder);
  for (;;) {
    const path = await firstAnswer(server, query);
    if (path !== null) return { server, path, milliseconds: performance.now() - start };
    if (performance.now() - start > PATIENCE_MS) throw new Error(`${server.name} does not answer`);
    await sleep(RETRY_MS);
  }
}

/** The collection's path; `null` while the server refuses connections or says that it starts. */
async function firstAnswer({ client }: ServerUnderTest, query: Buffer): Promise<string | null> {
  try {
    const path = await findCollection(client, COLLECTION);
    const { status } = await client.post(`${path}/query`, query);
    return status === 200 ? path : null;
  } catch {
    return null;
  }
}
