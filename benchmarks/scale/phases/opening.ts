/** From the start of a process on data that is there to its first answers. */
import { setTimeout as sleep } from "node:timers/promises";
import type { HttpClient } from "../../search/http-client.ts";
import { K } from "../../search/workload/ground-truth.ts";
import {
  COLLECTION,
  type Launch,
  type ServerUnderTest,
  findCollection,
} from "../../search/servers/server-under-test.ts";
import { answerTo } from "./ask-queries.ts";

const RETRY_MS = 5;
const PATIENCE_MS = 900_000;
/** An answer that has fewer of the exact neighbours is not of the whole collection. */
const COMPLETE = 0.8 * K;

export interface Opening {
  /** Milliseconds from the start of the process to the first answer to any request (a heartbeat). */
  readonly firstAnswerMs: number;
  /** To the first search that is answered, and completely. */
  readonly firstSearchMs: number;
  /** Of the searches before, how many were answered how; `incomplete`: with other records. */
  readonly before: Readonly<Record<string, number>>;
}

export interface Opened {
  readonly server: ServerUnderTest;
  /** Path of the collection. */
  readonly path: string;
  readonly opening: Opening;
}

export interface FirstSearch {
  readonly body: Buffer;
  /** Exact ids. */
  readonly truth: readonly string[];
}

/** @param started Is told of the process as soon as it runs. */
export async function openServer(
  launch: Launch,
  folder: string,
  search: FirstSearch,
  started: (server: ServerUnderTest) => Promise<void>,
): Promise<Opened> {
  const start = performance.now();
  const server = await launch(folder);
  try {
    const told = started(server);
    const until = async <T>(attempt: () => Promise<T | null>): Promise<T> => {
      for (;;) {
        const result = await attempt().catch(() => null);
        if (result !== null) return result;
        if (performance.now() - start > PATIENCE_MS) throw new Error(`${server.name} does not answer`);
        await sleep(RETRY_MS);
      }
    };
    const { client } = server;
    await until(async () => ((await client.get("/api/v2/heartbeat")).status === 200 ? true : null));
    const firstAnswerMs = performance.now() - start;
    const path = await until(() => findCollection(client, COLLECTION));
    const before: Record<string, number> = {};
    await until(async () => {
      const outcome = await outcomeOf(client, `${path}/query`, search);
      if (outcome === "complete") return true;
      before[outcome] = (before[outcome] ?? 0) + 1;
      return null;
    });
    const firstSearchMs = performance.now() - start;
    await told;
    return { server, path, opening: { firstAnswerMs, firstSearchMs, before } };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** `complete`, `incomplete` or the status. */
async function outcomeOf(client: HttpClient, path: string, { body, truth }: FirstSearch): Promise<string> {
  const answer = await answerTo(client, path, body);
  if (answer.status !== 200) return String(answer.status);
  const { ids } = JSON.parse(answer.body.toString()) as { readonly ids: readonly (readonly string[])[] };
  const found = truth.filter((id) => ids[0]?.includes(id)).length;
  return found >= COMPLETE ? "complete" : "incomplete";
}
