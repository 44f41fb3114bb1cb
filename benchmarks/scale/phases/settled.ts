/** A server at rest, beside a bare one that reads the same requests and answers as many bytes. */
import { succeeded } from "../../search/http-client.ts";
import { REPEATS, type Target, latencyRatio, measureRow } from "../../search/measured-row.ts";
import { floorPath, startFloor } from "../../search/servers/floor-server.ts";
import { measureThroughput } from "../../search/throughput.ts";
import { SCALE_FILTERS, type ScaleFilter } from "../data/large-set.ts";
import type { ScaleFigures, SearchFigures } from "../scale-figures.ts";
import type { Running } from "../server-session.ts";

export interface SettledQuestions {
  readonly bodies: Readonly<Record<ScaleFilter, readonly Buffer[]>>;
  /** Exact ids. */
  readonly truth: Readonly<Record<ScaleFilter, readonly (readonly string[])[]>>;
}

export type SettledFigures = Pick<ScaleFigures, "throughput"> & {
  readonly searches: Partial<Record<ScaleFilter, SearchFigures>>;
  readonly floor: ScaleFigures["floor"];
};

export async function measureSettled(
  { server, path }: Running,
  { bodies, truth }: SettledQuestions,
): Promise<SettledFigures> {
  const { client } = server;
  const searches: Partial<Record<ScaleFilter, SearchFigures>> = {};
  const floors: Partial<Record<ScaleFilter, { p50: number; ratio: number }>> = {};
  const bare = await startFloor("alone");
  try {
    for (const filter of SCALE_FILTERS) {
      const all = { requests: bodies[filter].length, repeats: REPEATS };
      const answer = succeeded(await client.post(`${path}/query`, bodies[filter][0]!));
      const { floor, Sheaf } = await measureRow({ bodies: bodies[filter], truth: truth[filter] }, [
        { contender: "floor", client: bare.client, path: floorPath(answer.byteLength), ...all },
        { contender: "Sheaf", client, path: `${path}/query`, ...all },
      ]);
      if (Sheaf === undefined || floor === undefined) continue;
      searches[filter] = { p50: Sheaf.p50, p99: Sheaf.p99, recall: Sheaf.recall };
      floors[filter] = { p50: floor.p50, ratio: latencyRatio(Sheaf, floor) ?? Number.NaN };
    }
  } finally {
    await bare.stop();
  }
  const target: Target = { contender: "Sheaf", client, path: `${path}/query`, requests: bodies.all.length };
  const { Sheaf: throughput = null } = await measureThroughput({ bodies: bodies.all }, [target]);
  return { searches, floor: floors, throughput };
}
