/** Incremental backups whose base is damaged: what was read of it is copied again, and the rest of the base is never trusted more. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
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

const logged: string[] = [];

async function open(): Promise<Engine> {
  const engine = await createLocalEngine({
    dataFolder: temporaryFolder(),
    shareStores: { records: 20, bytes: 100_000 },
    log: ({ message, error }) => void logged.push(`${message}: ${error}`),
  });
  onTestFinished(() => engine.close());
  return engine;
}

async function back(engine: Engine, target: string, base: string | null = null): Promise<void> {
  await engine.makeBackup({ target, base, tenant: null, keys: false });
}

/** Turns a bit in the middle of a part of the base. */
function flip(base: string, { pack, bytes }: StorePart, id: string): void {
  const path = pack === null ? join(base, collectionName(id), "data.mdb") : join(base, "packs", pack.name);
  const written = readFileSync(path);
  written[(pack?.at ?? 0) + Math.floor(bytes / 2)]! ^= 1;
  writeFileSync(path, written);
}

it("copies again what it reads of that and finds damaged, and is restored", async () => {
  const engine = await open();
  const backups = temporaryFolder();
  const [base, next] = [join(backups, "base"), join(backups, "next")];
  const refs = [await makeCollection(engine), await makeCollection(engine), await makeCollection(engine)];
  const [shared, own] = refs.map(({ id }) => id) as [string, string];
  for (const [i, count] of [3, 30, 3].entries())
    await write(engine, refs[i]!, "add", ...Array.from({ length: count }, (_, r) => record(`r${r}`)));
  await back(engine, base);
  for (const ref of refs) await write(engine, ref, "upsert", record("later"));
  const chain = await readChain(base);
  const known = await BackedUpCollections.read(chain);
  for (const id of [shared, own]) flip(base, known.listedParts(id)[0]!, id);
  flip(base, chain[0]!.header.catalog[0]!, "");
  await back(engine, next, base);
  expect(logged).toEqual([expect.stringMatching(/base .* is damaged, .*: .*base.*checksum.* and 2 more$/u)]);
  // What is damaged there is a collection's, or the catalog: the log says only where it lies.
  expect(logged[0]).not.toContain("every restore needs");
  const { problems } = await verifyBackup(next);
  expect(problems).toHaveLength(3);
  for (const problem of problems) expect(problem).toMatch(/checksum.* does not need this$/u);
  const dataFolder = join(temporaryFolder(), "restored");
  await restoreBackup({ backup: next, dataFolder, tenant: null });
  const again = await createLocalEngine({ dataFolder });
  onTestFinished(() => again.close());
  for (const ref of refs) expect(await readAll(again, ref)).toEqual(await readAll(engine, ref));
});

it("is refused where the list of the base is damaged", async () => {
  const backups = temporaryFolder();
  const [base, next] = [join(backups, "base"), join(backups, "next")];
  const engine = await open();
  await makeCollection(engine);
  await back(engine, base);
  const list = join(base, COLLECTION_LIST);
  const written = readFileSync(list);
  written[written.length - 2]! ^= 1;
  writeFileSync(list, written);
  await expect(back(engine, next, base)).rejects.toThrow(
    `the base is damaged: ${list}: does not have its checksum; make a whole backup`,
  );
  expect(existsSync(next) ? readdirSync(next) : []).toEqual([]);
});
