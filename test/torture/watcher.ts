/** Reads beside the writers: records that are always written as one batch are seen as one, at every moment. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Choices } from "./choices.ts";
import { NoAnswer, ask } from "./observe.ts";
import { COLLECTIONS } from "./routes.ts";
import type { Tally } from "./tally.ts";
import { type RecordMetadata, groupIds } from "./torture-record.ts";
import type { Target } from "./tortured-server.ts";
import { Violation } from "./violation.ts";

const PAUSE_MS = 10;

export interface WatcherOptions {
  /** Ids of the collections to look into. */
  readonly collections: readonly string[];
  readonly owners: readonly string[];
  readonly choices: Choices;
  readonly tally: Tally;
}

/** Reads until told to stop or until the gateway is gone. */
export async function watchGroups(
  server: Target,
  { collections, owners, choices, tally }: WatcherOptions,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const ids = groupIds(choices.one(owners));
    const read = choices.chance(0.5) ? getNonces : searchNonces;
    try {
      const nonces = await read(server, `${COLLECTIONS}/${choices.one(collections)}`, ids);
      tally.reads += 1;
      const isWhole = nonces.length === 0 || (nonces.length === ids.length && new Set(nonces).size === 1);
      if (!isWhole)
        throw new Violation("a read saw half a batch", [`${ids.join(", ")}: ${nonces.join(", ")}`]);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (error.outcome === "broken") return;
    }
    await sleep(PAUSE_MS);
  }
}

async function getNonces(server: Target, path: string, ids: readonly string[]): Promise<number[]> {
  const { metadatas } = await ask<{ metadatas: RecordMetadata[] }>(server, {
    method: "POST",
    path: `${path}/get`,
    json: { ids, include: ["metadatas"] },
  });
  return metadatas.map(({ n }) => n);
}

async function searchNonces(server: Target, path: string, ids: readonly string[]): Promise<number[]> {
  const { metadatas } = await ask<{ metadatas: RecordMetadata[][] }>(server, {
    method: "POST",
    path: `${path}/search`,
    json: { searches: [{ where: { "#id": { $in: ids } }, select: { keys: ["#metadata"] } }] },
  });
  return (metadatas[0] ?? []).map(({ n }) => n);
}
