/** Every process that writes to a data folder holds its lock, so that nobody else opens the folder while one of them runs. */
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { restoreBackup } from "../backup/restore-backup.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { makeCollection, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";

/** Whether a child of this process that runs `module` has a file open; `null`: there is no such child. */
function holds(module: string, file: string): boolean | null {
  const children = readdirSync("/proc/self/task")
    .flatMap((task) => readText(`/proc/self/task/${task}/children`).split(" "))
    .filter((pid) => pid !== "" && readText(`/proc/${pid}/cmdline`).includes(module));
  if (children.length === 0) return null;
  return children.every((pid) => openFiles(pid).includes(file));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function openFiles(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

/** While it works. */
async function isHeld(dataFolder: string, work: Promise<unknown>): Promise<boolean> {
  const { lockFile } = new DataFolder(dataFolder);
  const state = { isOver: false, isHolding: false };
  const over = work.finally(() => (state.isOver = true));
  while (!state.isOver && !state.isHolding) {
    state.isHolding = holds("backup-process", lockFile) ?? false;
    await sleep(5);
  }
  await over;
  return state.isHolding;
}

it("that copies a backup or restores one", async () => {
  const dataFolder = join(temporaryFolder(), "data");
  const engine = await createLocalEngine({ dataFolder });
  onTestFinished(() => engine.close());
  await write(engine, await makeCollection(engine), "add", record("a"));
  const target = join(temporaryFolder(), "backup");
  const making = engine.makeBackup({ target, base: null, tenant: null, keys: false });
  expect(await isHeld(dataFolder, making)).toBe(true);
  const restored = join(temporaryFolder(), "restored");
  const restoring = restoreBackup({ backup: target, dataFolder: restored, tenant: null });
  expect(await isHeld(restored, restoring)).toBe(true);
});
