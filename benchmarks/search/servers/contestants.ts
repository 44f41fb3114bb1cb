/** The servers that a set is measured on, each loaded, started anew and at rest. */
import { rm } from "node:fs/promises";
import { temporaryFolder } from "../../../test/e2e/testing/served-sheaf.ts";
import { type FloorServer, startFloor } from "./floor-server.ts";
import type { ChromaSource } from "./launch-chroma.ts";
import { launchSheaf } from "./launch-sheaf.ts";
import { type Loading, loadAndStop, waitForRest } from "../workload/load-records.ts";
import { queryBodies } from "../workload/requests.ts";
import { timeStart } from "./restart.ts";
import type { SearchSet } from "../workload/search-set.ts";
import type { Launch, ServerUnderTest } from "./server-under-test.ts";

export interface Contestant {
  readonly server: ServerUnderTest;
  /** Path of the loaded collection. */
  readonly path: string;
  readonly loading: Loading;
  /** From the start of the process to the first answer. */
  readonly restartMs: number;
}

export interface Contestants {
  readonly sheaf: Contestant;
  /** `null` where it is not measured. */
  readonly chroma: Contestant | null;
  readonly floor: FloorServer;
  /** Two bare processes, one behind the other. */
  readonly pair: FloorServer;
}

/** Runs `work` beside servers that are ended and removed after it. */
export async function withContestants<T>(
  set: SearchSet,
  chroma: Extract<ChromaSource, { readonly version: string }> | null,
  work: (contestants: Contestants) => Promise<T>,
): Promise<T> {
  const [query = Buffer.alloc(0)] = queryBodies(set, "all", ["distances"]);
  const folders: string[] = [];
  const servers: { stop(): Promise<void> }[] = [];
  const contestant = async (launch: Launch): Promise<Contestant> => {
    const folder = await temporaryFolder();
    folders.push(folder);
    const loading = await loadAndStop(await launch(folder), set);
    const { server, path, milliseconds } = await timeStart(launch, folder, query);
    servers.push(server);
    await waitForRest(server);
    return { server, path, loading, restartMs: milliseconds };
  };
  try {
    const sheaf = await contestant(launchSheaf);
    const peer = chroma === null ? null : await contestant(chroma.launch);
    const floor = await startFloor("alone");
    servers.push(floor);
    const pair = await startFloor("pair");
    servers.push(pair);
    return await work({ sheaf, chroma: peer, floor, pair });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}
