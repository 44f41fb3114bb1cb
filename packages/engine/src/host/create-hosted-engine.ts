/** Starts an engine in a process of its own on a data folder, which nobody else may use meanwhile. */
import { DataFolder } from "../storage/folder/data-folder.ts";
import { prepareDataFormat } from "../storage/folder/data-format.ts";
import { acquireDataLock } from "./data-lock.ts";
import { HostedEngine } from "./hosted-engine.ts";
import type { HostedEngineOptions } from "./hosted-engine-options.ts";

/** Takes the data folder's lock, starts the engine host and resolves when it serves. */
export async function createHostedEngine(options: HostedEngineOptions): Promise<HostedEngine> {
  const folder = new DataFolder(options.dataFolder);
  const lock = await acquireDataLock(folder.lockFile);
  try {
    prepareDataFormat(folder);
  } catch (error) {
    lock.release();
    throw error;
  }
  const engine = new HostedEngine(options, lock);
  await engine.start();
  return engine;
}
