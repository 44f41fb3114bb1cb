/** Backups that are damaged, mixed up or forged, and targets that are none: each is refused in a sentence, and nothing is restored. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type CollectionRef, SheafError, parseCreateCollection } from "@sheaf/protocol";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import type { Engine } from "../engine.ts";
import { exportCollection } from "../export/export-collection.ts";
import { exportTenant } from "../export/export-tenant.ts";
import { AT, makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import {
  type BackedUpCollection,
  COLLECTION_LIST,
  readCollections,
  readHeader,
  writeHeader,
} from "./backup-files.ts";
import { removeBackup } from "./remove-backup.ts";
import { verifyBackup } from "./verify-backup.ts";
import { restoreBackup } from "./restore-backup.ts";
import { sumFile } from "./summed-file.ts";

let dataFolder: string;
let engine: Engine;
let backups: string;
let refs: readonly CollectionRef[];

beforeEach(async () => {
  dataFolder = join(temporaryFolder(), "data");
  backups = temporaryFolder();
  engine = await createLocalEngine({ dataFolder });
  onTestFinished(() => engine.close());
  refs = [await makeCollection(engine), await makeCollection(engine)];
  for (const ref of refs) await write(engine, ref, "add", record("a"), record("b"));
});

async function back(name: string, base: string | null = null): Promise<string> {
  const target = join(backups, name);
  const from = base === null ? null : join(backups, base);
  await engine.makeBackup({ target, base: from, tenant: null, keys: false });
  return target;
}

/** What a restore is refused with; nothing is left in its folder. */
async function refusal(backup: string, tenant: string | null = null): Promise<string> {
  const folder = join(temporaryFolder(), "restored");
  try {
    await restoreBackup({ backup, dataFolder: folder, tenant });
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
    return error.message;
  }
  return "";
}

const filesOf = (folder: string): readonly string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );

/** As a backup has it whose sums are right. */
async function forge(backup: string, change: (line: BackedUpCollection) => object): Promise<void> {
  const lines: string[] = [];
  const header = await readHeader(backup);
  for await (const line of readCollections({ folder: backup, header }))
    lines.push(`${JSON.stringify(change(line))}\n`);
  const list = join(backup, COLLECTION_LIST);
  writeFileSync(list, lines.join(""));
  writeHeader(backup, { ...header, list: await sumFile(list) });
}

describe("a chain of backups", () => {
  it("with a link that is damaged, missing, cut or another one is refused by the link's name", async () => {
    await back("first");
    for (const ref of refs) await write(engine, ref, "upsert", record("b", { document: ref.id }));
    await back("second", "first");
    for (const ref of refs) await write(engine, ref, "upsert", record("c"));
    const third = await back("third", "second");
    await back("other");
    expect(await refusal(join(temporaryFolder(), "absent"))).toContain("no complete backup");
    expect(await refusal(dataFolder)).toContain(`sheaf backup NEW-FOLDER --data ${dataFolder}`);
    expect(await refusal(third, "misspelt")).toBe("Tenant [misspelt] is not in the backup");
    for (const link of ["first", "second"])
      await expect(removeBackup(join(backups, link))).rejects.toThrow(`${link} is needed by `);
    for (const link of ["first", "second"]) {
      const [at, aside] = [join(backups, link), join(backups, "aside")];
      for (const name of filesOf(at)) {
        const path = join(at, name);
        const bytes = readFileSync(path);
        for (const harm of ["flip", "cut", "remove", "pipe"] as const) {
          const turned = Buffer.from(bytes);
          turned[bytes.length >> 1]! ^= 1;
          if (harm === "flip") writeFileSync(path, turned);
          else if (harm === "cut") truncateSync(path, bytes.length - 1);
          else rmSync(path);
          if (harm === "pipe") execFileSync("mkfifo", [path]);
          expect(await refusal(third), `${harm} ${link}/${name}`).toContain(at);
          rmSync(path, { force: true });
          writeFileSync(path, bytes);
        }
      }
      renameSync(at, aside);
      expect(await refusal(third)).toContain(`${at} is no complete backup`);
      cpSync(join(backups, "other"), at, { recursive: true });
      expect(await refusal(third)).toContain(`${at} is damaged: it is another backup`);
      rmSync(at, { recursive: true });
      renameSync(aside, at);
    }
    const [one, other] = ["second", "third"].map((name) => join(backups, name, "packs"));
    renameSync(one!, `${one}.aside`);
    renameSync(other!, one!);
    renameSync(`${one}.aside`, other!);
    expect(await refusal(third)).toMatch(/does not have its checksum|ends too early/u);
    for (const link of ["third", "second", "first"]) await removeBackup(join(backups, link));
    expect(readdirSync(backups)).toEqual(["other"]);
  });
});

describe("the removal of a backup", () => {
  it("goes by what others add to, whatever that is called, and by what it cannot read", async () => {
    const [first, second] = [await back("first"), join(backups, "second")];
    symlinkSync(first, join(backups, "latest"));
    await back("second", "latest");
    await expect(removeBackup(first)).rejects.toThrow("first is needed by second");
    await expect(removeBackup(join(backups, "latest"))).rejects.toThrow("first is needed by second");
    const header = readFileSync(join(second, "backup.json"));
    writeFileSync(join(second, "backup.json"), "of a later version");
    await expect(removeBackup(first)).rejects.toThrow(second);
    writeFileSync(join(second, "backup.json"), header);
    await removeBackup(second);
    await removeBackup(join(backups, "latest"));
    expect(readdirSync(backups)).toEqual([]);
  });
});

describe("an export", () => {
  it("into the backup is refused", async () => {
    const backup = await back("first");
    const [to, { id: collection }] = [join(backup, "x"), refs[0]!];
    await expect(exportTenant({ backup, tenant: AT.tenant, to })).rejects.toThrow("lies in the backup");
    await expect(exportCollection({ ...AT, backup, collection, to })).rejects.toThrow("lies in the backup");
    expect(existsSync(to)).toBe(false);
  });

  it("of a damaged backup is refused, whatever of it is damaged", async () => {
    await back("first");
    await write(engine, refs[0]!, "upsert", record("c"));
    const second = await back("second", "first");
    const { id } = refs[0]!;
    const harmed = [second, join(backups, "first")].flatMap((backup) => [
      join(backup, COLLECTION_LIST),
      ...readdirSync(join(backup, "packs")).map((name) => join(backup, "packs", name)),
    ]);
    for (const path of harmed) {
      const bytes = readFileSync(path);
      const turned = Buffer.from(bytes);
      turned[bytes.length - 1]! ^= 1;
      writeFileSync(path, turned);
      const to = join(temporaryFolder(), "out");
      const tenant = AT.tenant;
      // A pack ends with the records of any of the tenant's collections.
      const refused = path.endsWith(COLLECTION_LIST)
        ? exportCollection({ ...AT, backup: second, collection: id, to })
        : exportTenant({ backup: second, tenant, to });
      await expect(refused, path).rejects.toThrow(/damaged/u);
      expect(existsSync(to) ? filesOf(to) : []).not.toContain("manifest.jsonl");
      writeFileSync(path, bytes);
    }
  });
});

it("is made by one process at a time", async () => {
  const target = join(backups, "race");
  const other = await createLocalEngine({ dataFolder: temporaryFolder() });
  onTestFinished(() => other.close());
  const request = { target, base: null, tenant: null, keys: false };
  const made = await Promise.allSettled([engine.makeBackup(request), other.makeBackup(request)]);
  expect(made.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const refused = made.find((one) => one.status === "rejected");
  expect(refused?.reason).toMatchObject({ message: "race is being made by another process" });
  expect((await verifyBackup(target)).problems).toEqual([]);
});

it("that has failed leaves an empty folder, which is removed; a folder with other files is not", async () => {
  const [failed, other] = [join(backups, "failed"), join(backups, "other")];
  for (const folder of [failed, other]) mkdirSync(folder);
  writeFileSync(join(other, "notes"), "mine");
  expect(await removeBackup(failed)).toBe("unfinished");
  await expect(removeBackup(other)).rejects.toMatchObject({ code: "invalid_argument" });
  expect([existsSync(failed), existsSync(join(other, "notes"))]).toEqual([false, true]);
});

it("names bytes behind a pack, which no restore reads", async () => {
  const backup = await back("first");
  appendFileSync(join(backup, "packs", "000002"), "x");
  const damage = [expect.stringMatching(/packs\/000002: has \d+ bytes instead of \d+/u)];
  expect((await verifyBackup(backup)).problems).toEqual(damage);
  const dataFolder = join(temporaryFolder(), "restored");
  expect(await restoreBackup({ backup, dataFolder, tenant: null })).toMatchObject({
    ...{ missing: [], elsewhere: damage },
  });
});

describe("a restore of a backup that is damaged", () => {
  let backup: string;
  let sound: CollectionRef;
  let damaged: CollectionRef;

  /** One tenant more, whose only collection is the last of the pack. */
  beforeEach(async () => {
    await engine.createTenant("acme");
    await engine.createDatabase({ tenant: "acme", database: "main" });
    const at = { tenant: "acme", database: "main" };
    sound = { ...at, id: (await engine.createCollection(parseCreateCollection({ name: "mine" }, at))).id };
    await write(engine, sound, "add", record("of acme"));
    backup = await back("first");
    damaged = refs[0]!;
    const header = await readHeader(backup);
    for await (const { id, parts } of readCollections({ folder: backup, header })) {
      if (id !== damaged.id) continue;
      const { bytes, pack } = parts[0]!;
      const path = join(backup, "packs", pack!.name);
      const turned = readFileSync(path);
      turned[pack!.at + (bytes >> 1)]! ^= 1;
      writeFileSync(path, turned);
    }
  });

  it("has a tenant that needs nothing of it, and names the damage; tenants that do are refused", async () => {
    expect(await refusal(backup)).toContain(damaged.id);
    expect(await refusal(backup, AT.tenant)).toContain(damaged.id);
    const folder = join(temporaryFolder(), "restored");
    expect(await restoreBackup({ backup, dataFolder: folder, tenant: "acme" })).toMatchObject({
      ...{ collections: 1, missing: [] },
      elsewhere: [expect.stringContaining(damaged.id)],
    });
    const again = await createLocalEngine({ dataFolder: folder });
    onTestFinished(() => again.close());
    expect(await readAll(again, sound)).toHaveLength(1);
  });

  it("leaves out collections that are damaged, where that is asked for, and nothing else", async () => {
    const folder = join(temporaryFolder(), "restored");
    const request = { backup, dataFolder: folder, tenant: null, skipDamaged: true };
    expect(await restoreBackup(request)).toMatchObject({
      ...{ collections: 2, elsewhere: [] },
      missing: [expect.stringContaining("does not have its checksum")],
    });
    const again = await createLocalEngine({ dataFolder: folder });
    onTestFinished(() => again.close());
    expect(await readAll(again, sound)).toHaveLength(1);
    expect(await readAll(again, refs[1]!)).toHaveLength(2);
    await expect(readAll(again, damaged)).rejects.toMatchObject({ code: "collection_unavailable" });
    await expect(write(again, damaged, "upsert", record("c"))).rejects.toMatchObject({
      code: "collection_unavailable",
    });
  });

  it("is refused where what is damaged concerns all", async () => {
    const list = join(backup, COLLECTION_LIST);
    writeFileSync(list, `${readFileSync(list, "utf8")} `);
    for (const tenant of [null, "acme"]) {
      const dataFolder = join(temporaryFolder(), "restored");
      await expect(restoreBackup({ backup, dataFolder, tenant, skipDamaged: true })).rejects.toThrow(
        COLLECTION_LIST,
      );
    }
    await expect(back("on it", "first")).rejects.toThrow("the base is damaged");
  });
});

describe("a forged backup", () => {
  it("makes no files outside the folder that it is restored to", async () => {
    const backup = await back("forged");
    const outside = "../../../../outside";
    const file = { name: "../../outside.seg", in: (await readHeader(backup)).id, bytes: 1, sha256: "0" };
    for (const change of [
      (line: BackedUpCollection) => ({ ...line, id: outside }),
      (line: BackedUpCollection) => ({ ...line, index: [file] }),
      (line: BackedUpCollection) => ({
        ...line,
        parts: [{ ...line.parts[0], pack: { name: "../x", at: 0 } }],
      }),
      (line: BackedUpCollection) => ({ ...line, parts: [{ ...line.parts[0], pack: { name: "1", at: -1 } }] }),
      (line: BackedUpCollection) => ({ ...line, parts: [{ ...line.parts[0], bytes: 1e300 }] }),
      (line: BackedUpCollection) => ({ ...line, parts: [null] }),
      () => ({}),
      () => [],
    ]) {
      const copy = join(temporaryFolder(), "copy");
      cpSync(backup, copy, { recursive: true });
      await forge(copy, change);
      expect(await refusal(copy)).toContain(`${copy} is damaged`);
    }
  });
});

describe("a target", () => {
  const request = (target: string): Promise<unknown> =>
    engine.makeBackup({ target, base: null, tenant: null, keys: false });

  it("of a backup is a folder of its own, and not in the data folder", async () => {
    const file = join(backups, "file");
    writeFileSync(file, "");
    await expect(request(file)).rejects.toMatchObject({ message: expect.stringContaining("is a file") });
    const link = join(backups, "link");
    symlinkSync(dataFolder, link);
    for (const inside of [dataFolder, join(dataFolder, "backup"), join(link, "trash/backup"), link])
      await expect(request(inside), inside).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("lies in the data folder"),
      });
    expect(existsSync(join(dataFolder, "backup"))).toBe(false);
    writeFileSync(join(backups, "kept"), "mine");
    await expect(request(backups)).rejects.toMatchObject({ code: "already_exists" });
    expect(readFileSync(join(backups, "kept"), "utf8")).toBe("mine");
  });

  it("of a restore lies in no backup that it is made of", async () => {
    await back("first");
    const backup = await back("second", "first");
    const link = join(backups, "link");
    symlinkSync(join(backups, "first"), link);
    for (const inside of [join(backup, "data"), join(link, "data"), join(backups, "first", "a", "b")]) {
      await expect(restoreBackup({ backup, dataFolder: inside, tenant: null })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("lies in the backup"),
      });
      expect(existsSync(inside)).toBe(false);
    }
    const archive = { folder: join(backups, "archive"), until: null };
    mkdirSync(archive.folder);
    const inside = join(archive.folder, "data");
    await expect(restoreBackup({ backup, dataFolder: inside, tenant: null, archive })).rejects.toThrow(
      "lies in the archive",
    );
  });

  it("of a restore or a backup lies in no data folder, whoever uses that", async () => {
    const backup = await back("first");
    const [other, link] = [temporaryFolder(), join(backups, "link")];
    cpSync(join(dataFolder, "format.json"), join(other, "format.json"));
    symlinkSync(other, link);
    const refused = { code: "invalid_argument", message: expect.stringContaining("lies in the data folder") };
    for (const inside of [join(dataFolder, "a"), join(other, "a", "b"), join(link, "a")]) {
      const restored = restoreBackup({ backup, dataFolder: inside, tenant: null });
      await expect(restored, inside).rejects.toMatchObject(refused);
      await expect(request(inside), inside).rejects.toMatchObject(refused);
      expect(existsSync(inside)).toBe(false);
    }
  });
});

it("copies and restores tenants of any name, and only them", async () => {
  const names = ["..", "a/b", "../../up", "line\nend", "C:\\x", "%2e%2e", "\u0000", "-rf"];
  const ids = new Map<string, CollectionRef>();
  for (const tenant of names) {
    await engine.createTenant(tenant);
    await engine.createDatabase({ tenant, database: ".." });
    const at = { tenant, database: ".." };
    const { id } = await engine.createCollection(parseCreateCollection({ name: "mine" }, at));
    ids.set(tenant, { ...at, id });
    await write(engine, { ...at, id }, "add", record(tenant));
  }
  const whole = await back("whole");
  const one = join(backups, "one");
  await engine.makeBackup({ target: one, base: null, tenant: "\u0000", keys: false });
  for (const [backup, tenant] of [
    [whole, ".."],
    [whole, "line\nend"],
    [one, "\u0000"],
  ] as const) {
    const restored = join(temporaryFolder(), "restored");
    await restoreBackup({ backup, dataFolder: restored, tenant });
    const again = await createLocalEngine({ dataFolder: restored });
    const { items } = await again.listTenants({ limit: null, offset: 0 });
    expect(items.map(({ name }) => name).toSorted()).toEqual(["default_tenant", tenant].toSorted());
    expect((await readAll(again, ids.get(tenant)!)).map(({ id }) => id)).toEqual([tenant]);
    expect(await again.countCollections(AT)).toBe(0);
    await again.close();
  }
});
