/** The engine in this process, for tests and for programs without a gateway. */
import type { CollectionListeners } from "./collection/collection-opener.ts";
import type { Engine } from "./engine.ts";
import { acquireDataLock } from "./host/data-lock.ts";
import { LocalEngine } from "./local-engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";

/** Opens the engine in this process and holds the folder's lock until `close`. */
export async function createLocalEngine(options: LocalEngineOptions & CollectionListeners): Promise<Engine> {
  const lock = await acquireDataLock(new DataFolder(options.dataFolder).lockFile);
  try {
    const engine = await LocalEngine.open({
      ...options,
      lockFd: lock.fd,
      onClosed: () => lock.release(),
    });
    for (const id of await engine.dirtyCollections()) await engine.revive(id);
    return engine;
  } catch (error) {
    lock.release();
    throw error;
  }
}
