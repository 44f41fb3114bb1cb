/** The servers that a set is measured on, each loaded, started anew and at rest. */
import { rm } from "node:fs/promises";
import { temporaryFolder } from "../../test/e2e/testing/served-sheaf.ts";
import { type FloorServer, startFloor } from "./floor-server.ts";
import { type ChromaSource } from "./launch-chroma.ts";
import { launchSheaf } from "./launch-sheaf.ts";
import { type Loading, loadAndStop, waitForRest } from "./load-records.ts";
import { loadedChroma } from "./loaded-chroma.ts";
import { queryBodies } from "./requests.ts";
import { timeStart } from "./restart.ts";
import type { SearchSet } from "./search-set.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

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
  try {
    const folder = await temporaryFolder();
    folders.push(folder);
    const fresh = await launchSheaf(folder);
    const loading = await loadAndStop(fresh, set);
    const sheaf = await timeStart(launchSheaf, folder, query);
    servers.push(sheaf.server);
    let peer: Contestant | null = null;
    if (chroma !== null) {
      const loaded = await loadedChroma(chroma, set);
      folders.push(loaded.folder);
      const { milliseconds, ...started } = await timeStart(chroma.launch, loaded.folder, query);
      servers.push(started.server);
      await waitForRest(started.server);
      peer = { ...started, loading: loaded.loading, restartMs: milliseconds };
    }
    await waitForRest(sheaf.server);
    const floor = await startFloor();
    servers.push(floor);
    const { server, path, milliseconds } = sheaf;
    return await work({
      floor,
      chroma: peer,
      sheaf: { server, path, loading, restartMs: milliseconds },
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}
