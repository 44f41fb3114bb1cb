/**
 * Whether loading and unloading leaks. The memory budget holds one of two models, so asking for them in turn unloads
 * the other one each time; what counts is the memory of the whole process tree with the same model loaded.
 */
import { fileURLToPath } from "node:url";
import { GATEWAY, ForkedServer, MODEL } from "./forked-server.ts";

/** Any other dense model; this one is small, and its architecture is another one. */
const OTHER_MODEL = "BAAI/bge-m3";
const OTHER_FOLDER = new URL("../../packages/inference/fixtures/models/tiny-xlmr-cls", import.meta.url);
const BUDGET_MEBIBYTES = 280;
const TEXTS = ["Ships rise with the tide."];

export interface MemoryCycles {
  readonly cycles: number;
  /** Unloadings that the server reported, of both models. */
  readonly unloadings: number;
  /** Resident memory of the process tree with MiniLM loaded, MiB: after the first cycle, and after the last. */
  readonly firstMebibytes: number;
  readonly lastMebibytes: number;
}

export async function measureMemoryCycles(cycles: number): Promise<MemoryCycles> {
  const models = { [OTHER_MODEL]: { path: fileURLToPath(OTHER_FOLDER) } };
  const server = await ForkedServer.start(GATEWAY, {
    args: [JSON.stringify({ policy: "packed", memoryBytes: BUDGET_MEBIBYTES * 2 ** 20, models })],
  });
  try {
    const sizes: number[] = [];
    for (let cycle = 0; cycle < cycles; cycle++) {
      await server.embed(TEXTS, OTHER_MODEL);
      await server.embed(TEXTS, MODEL);
      sizes.push(await server.residentMebibytes());
    }
    const { events } = await server.report();
    return {
      cycles,
      unloadings: events.filter((event) => event.startsWith("unloading")).length,
      firstMebibytes: sizes[0] ?? Number.NaN,
      lastMebibytes: sizes.at(-1) ?? Number.NaN,
    };
  } finally {
    await server.stop();
  }
}
