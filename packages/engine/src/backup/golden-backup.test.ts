/** Backups of earlier formats, as the versions of then wrote them: they are restored, and added to. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { AT, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { readHeader, writeHeader } from "./backup-files.ts";
import { restoreBackup } from "./restore-backup.ts";
import { verifyBackup } from "./verify-backup.ts";

const EVERY_PAGE = { limit: null, offset: 0 };

/** `full`, and `next` which adds to it. */
function copyOfGolden(version: number): string {
  const folder = join(temporaryFolder(), "golden");
  cpSync(fileURLToPath(new URL(`golden-v${version}`, import.meta.url)), folder, { recursive: true });
  return folder;
}

async function restored(backup: string): Promise<Engine> {
  const dataFolder = join(temporaryFolder(), "data");
  await restoreBackup({ backup, dataFolder, tenant: null });
  const engine = await createLocalEngine({ dataFolder });
  onTestFinished(() => engine.close());
  return engine;
}

/** Ids and documents of the collections' records. */
async function stateOf(engine: Engine): Promise<Record<string, readonly string[]>> {
  const state: Record<string, readonly string[]> = {};
  for (const { id, name } of (await engine.listCollections(AT, EVERY_PAGE)).items)
    state[name] = (await readAll(engine, { ...AT, id }))
      .map((one) => `${one.id} ${String(one.document)}`)
      .toSorted();
  return state;
}

const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `r${i} document ${i}`).toSorted();

describe.each([1, 2])("backups of format %i", (version) => {
  it("are restored, whole and incremental ones", async () => {
    const folder = copyOfGolden(version);
    const full = await stateOf(await restored(join(folder, "full")));
    expect(full).toEqual({ changed: numbered(3), same: numbered(3), moved: numbered(20) });
    const next = await stateOf(await restored(join(folder, "next")));
    expect(next).toMatchObject({ same: numbered(3), changed: ["r0 document 0", "r1 changed"] });
    expect(next["moved"]).toHaveLength(22);
  });

  it("are added to", async () => {
    const folder = copyOfGolden(version);
    const engine = await restored(join(folder, "next"));
    const { items } = await engine.listCollections(AT, EVERY_PAGE);
    const { id } = items.find(({ name }) => name === "moved")!;
    await write(engine, { ...AT, id }, "upsert", record("r5", { document: "changed" }));
    const target = join(folder, "third");
    await engine.makeBackup({ target, base: join(folder, "next"), tenant: null, keys: false });
    expect(await verifyBackup(target)).toMatchObject({ backups: 3, problems: [] });
    expect(await stateOf(await restored(target))).toEqual(await stateOf(engine));
  });
});

it("a backup of a version that is too new is named", async () => {
  const full = join(copyOfGolden(1), "full");
  writeHeader(full, { ...(await readHeader(full)), version: 4 } as never);
  await expect(readHeader(full)).rejects.toThrow("made by a newer Sheaf (backup format 4)");
});
