/** The ceiling: ONNX Runtime alone, running the very batches that a server ran, in as many processes. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { sum } from "../measure/statistics.ts";
import { SOURCE_ARGUMENTS } from "./forked-server.ts";
import type { Throughput } from "./saturation.ts";

const MODULE = new URL("./bare-loop-process.ts", import.meta.url);

/** Token counts of the texts of each batch. */
export type Packs = readonly (readonly number[])[];

export interface LoopResult {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** Each process loads first; all start together. */
export async function runBareLoop(packs: Packs, processes: number): Promise<Throughput> {
  const children = Array.from({ length: processes }, () => fork(MODULE, [], { execArgv: SOURCE_ARGUMENTS }));
  try {
    await Promise.all(
      children.map(async (child, index) => {
        child.send(packs.filter((_, position) => position % processes === index));
        await once(child, "message");
      }),
    );
    const results = await Promise.all(
      children.map(async (child) => {
        child.send("go");
        return ((await once(child, "message")) as [LoopResult])[0];
      }),
    );
    return {
      tokens: sum(packs.map(sum)),
      cpuSeconds: sum(results.map(({ cpuSeconds }) => cpuSeconds)),
      wallSeconds: Math.max(...results.map(({ wallSeconds }) => wallSeconds)),
    };
  } finally {
    for (const child of children) child.disconnect();
  }
}
