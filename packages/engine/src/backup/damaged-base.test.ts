/** Incremental backups whose base is damaged: what was read of it is copied again, and the rest of the base is never trusted more. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { collectionName } from "../storage/folder/data-folder.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { BackedUpCollections } from "./backed-up-collections.ts";
import { COLLECTION_LIST, type StorePart, readChain } from "./backup-files.ts";
import { restoreBackup } from "./restore-backup.ts";
import { verifyBackup } from "./verify-backup.ts";

async function open(isShared: boolean, logged: string[] = []): Promise<Engine> {
  const engine = await createLocalEngine({
    dataFolder: temporaryFolder(),
    shareStores: isShared ? { records: 20, bytes: 100_000 } : null,
    log: ({ message, error }) => void logged.push(`${message}: ${error}`),
  });
  onTestFinished(() => engine.close());
  return engine;
}

async function back(engine: Engine, target: string, base: string | null = null): Promise<void> {
  await engine.makeBackup({ target, base, tenant: null, keys: false });
}

/** Turns a bit in the middle of a part of the base. */
function flip(base: string, { pack, bytes }: StorePart, id: string): () => void {
  const path = pack === null ? join(base, collectionName(id), "data.mdb") : join(base, "packs", pack.name);
  const written = readFileSync(path);
  const turned = Buffer.from(written);
  turned[(pack?.at ?? 0) + Math.floor(bytes / 2)]! ^= 1;
  writeFileSync(path, turned);
  return () => writeFileSync(path, written);
}

it.each([true, false])("copies again what it reads of that, of stores that share: %s", async (isShared) => {
  const logged: string[] = [];
  const engine = await open(isShared, logged);
  const backups = temporaryFolder();
  const [ref, other] = [await makeCollection(engine), await makeCollection(engine)];
  for (const one of [ref, other]) await write(engine, one, "add", record("a"), record("b"));
  const base = join(backups, "base");
  await back(engine, base);
  for (const one of [ref, other]) await write(engine, one, "upsert", record("c"));
  const chain = await readChain(base);
  const known = await BackedUpCollections.read(chain);
  const harmed = [known.listedParts(ref.id)[0]!, chain[0]!.header.catalog[0]!];
  for (const [i, part] of harmed.entries()) {
    const mend = flip(base, part, ref.id);
    const target = join(backups, `next-${i}`);
    await back(engine, target, base);
    expect(logged).toHaveLength(i + 1);
    expect(logged[i]).toMatch(/base .* is damaged, .*: .*base.*checksum/u);
    expect((await verifyBackup(target)).problems).toEqual([
      expect.stringMatching(/checksum.*does not need this$/u),
    ]);
    const dataFolder = join(temporaryFolder(), "restored");
    await restoreBackup({ backup: target, dataFolder, tenant: null });
    const again = await createLocalEngine({ dataFolder });
    for (const one of [ref, other]) expect(await readAll(again, one)).toEqual(await readAll(engine, one));
    await again.close();
    mend();
  }
});

it("is refused where the list of the base is damaged", async () => {
  const backups = temporaryFolder();
  const [base, next] = [join(backups, "base"), join(backups, "next")];
  const engine = await open(true);
  await makeCollection(engine);
  await back(engine, base);
  const list = join(base, COLLECTION_LIST);
  const written = readFileSync(list);
  for (const at of [3, Math.floor(written.length / 2), written.length - 2]) {
    const turned = Buffer.from(written);
    turned[at]! ^= 1;
    writeFileSync(list, turned);
    await expect(back(engine, next, base)).rejects.toThrow(
      `the base is damaged: ${list}: does not have its checksum`,
    );
    expect(existsSync(join(next, "backup.json"))).toBe(false);
  }
});
