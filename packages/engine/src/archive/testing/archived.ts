/** An archive, the data folder that it belongs to, and a backup that leads to it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { onTestFinished } from "vitest";
import { BackedUpCollections, catalogOf } from "../../backup/backed-up-collections.ts";
import { readChain, readHeader } from "../../backup/backup-files.ts";
import { RestoreSteps } from "../../backup/restore-steps.ts";
import { createLocalEngine } from "../../create-local-engine.ts";
import type { Engine } from "../../engine.ts";
import { DataFolder } from "../../storage/folder/data-folder.ts";
import { writeRestoredFormat } from "../../storage/folder/data-format.ts";
import { AT, readAll } from "../../testing/engine-fixtures.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { segmentPath } from "../archive-format.ts";
import { type ReplayTarget, planReplay } from "../plan-replay.ts";

export const EVERY_PAGE = { limit: 100, offset: 0 };
export const DAY_MS = 86_400_000;

/** A data folder with an archive, and a backup that leads to it. */
export class Archived {
  readonly dataFolder = join(temporaryFolder(), "data");
  readonly folder = join(temporaryFolder(), "archive");
  backup = join(temporaryFolder(), "backup");
  segmentBytes = 4_000;
  isShared = false;
  readonly logged: string[] = [];
  #barred: readonly string[] = [];

  async open(isArchived = true): Promise<Engine> {
    const archive = { folder: this.folder, keepMs: DAY_MS, segmentBytes: this.segmentBytes };
    const engine = await createLocalEngine({
      dataFolder: this.dataFolder,
      ...(isArchived ? { archive } : {}),
      shareStores: this.isShared ? { records: 12, bytes: 100_000 } : null,
      log: ({ message }) => void this.logged.push(message),
    });
    onTestFinished(() => engine.close().catch(() => undefined));
    return engine;
  }

  /** Nothing behind this entry can be written, marks and checkpoints included, until `free` is called. */
  bar(position: number): () => void {
    this.#barred = Array.from({ length: 50 }, (_, i) => segmentPath(this.folder, position + i + 1));
    for (const path of this.#barred) mkdirSync(path);
    return () => this.free();
  }

  free(): void {
    for (const path of this.#barred) rmSync(path, { recursive: true });
    this.#barred = [];
  }

  async back(engine: Engine): Promise<void> {
    await engine.makeBackup({ target: this.backup, base: null, tenant: null, keys: true });
  }

  /** What it returns gives the folder the catalog of now again, once the engine is closed. */
  catalogOfNow(): () => void {
    const file = join(this.dataFolder, "catalog", "data.mdb");
    const bytes = readFileSync(file);
    return () => writeFileSync(file, bytes);
  }

  /** As `restoreBackup` does, in this process. */
  async restored(until: ReplayTarget): Promise<Engine> {
    const header = await readHeader(this.backup);
    const replay = planReplay(this.folder, header, until);
    const dataFolder = join(temporaryFolder(), "restored");
    mkdirSync(dataFolder);
    const steps = new RestoreSteps();
    const chain = await readChain(this.backup);
    const known = await BackedUpCollections.read(chain);
    const collections = [...known.all()].map(({ id, sequence, isShared, index }) => ({
      ...{ id, sequence, isShared, store: known.partsOf(id) },
      index: index.map((file) => ({ name: file.name, path: known.indexFile(id, file) })),
    }));
    await steps.collections({ dataFolder, collections });
    const step = { catalog: catalogOf(chain), dataFolder, tenant: null, keys: true };
    await steps.replay({ ...step, replay, without: [] });
    const { hasShares } = await steps.catalog(step);
    writeRestoredFormat(new DataFolder(dataFolder), hasShares);
    const engine = await createLocalEngine({ dataFolder });
    onTestFinished(() => engine.close());
    return engine;
  }
}

export const positionOf = async (engine: Engine): Promise<number> =>
  (await engine.statistics()).archivePosition;

/** Names and records of all collections. */
export async function stateOf(engine: Engine): Promise<unknown> {
  const { items } = await engine.listCollections(AT, EVERY_PAGE);
  const state: unknown[] = [];
  for (const { id, name, dimension, metadata } of items)
    state.push([name, dimension, metadata, await readAll(engine, { ...AT, id })]);
  return state;
}

export async function refusalOf(action: () => unknown): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (error instanceof SheafError) return error.message;
    throw error;
  }
  return "";
}
