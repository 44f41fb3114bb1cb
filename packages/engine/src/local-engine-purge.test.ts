/** What was deleted or replaced leaves the files of the data folder in the time that is set. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CollectionRef, SheafError, WriteRecord } from "@sheaf/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "./engine.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import type { LocalEngineOptions } from "./local-engine-options.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { idsOf, makeCollection, readAll, record, write } from "./testing/engine-fixtures.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const INDEX = { files: true, sizes: { denseRows: 32, sizes: { mutableRows: 32, sealedRows: 128 } } };
const PURGE_AFTER_MS = 4_000;
const ROWS = 300;
const GONE = Array.from({ length: ROWS }, (_, i) => `r${i}`).filter((_, i) => i % 3 === 0);

/** A purge that makes way for traffic on a busy machine takes long; one that does not end takes longer. */
const UNTIL_GONE = { interval: 200, timeout: 120_000 };

/** So much that nothing of a test moves out. */
const SHARES = { records: 1_000, bytes: 64 * 2 ** 20 };

let dataFolder: string;
let shareStores: NonNullable<LocalEngineOptions["shareStores"]> | null;
let engine: Engine;
let problems: string[];

async function open(purgeAfterMs: number): Promise<void> {
  engine = await createLocalEngine({
    ...{ dataFolder, index: INDEX, purgeAfterMs, shareStores },
    log: ({ level, message, error }) => {
      if (level === "error") problems.push(`${message}: ${JSON.stringify(error)}`);
    },
  });
}

/** Its id, document and metadata can be told from those of all others, wherever they lie. */
function row(id: string, version: number): WriteRecord {
  const n = Number(id.slice(1));
  const secret = `secret-${id}-of-version-${version}-`;
  return record(`${secret}id`.replace(`-of-version-${version}`, ""), {
    embedding: Float32Array.of(Math.sin(n), Math.cos(n * 1.7)),
    document: `${secret}document `.repeat(n % 7 === 0 ? 400 : 3),
    metadata: new Map([["key", `${secret}value`]]),
  });
}

/** Which of the texts are anywhere in the folder, or in files whose names end so. */
function found(texts: readonly string[], ending = ""): readonly string[] {
  const names = readdirSync(dataFolder, { recursive: true }).filter((name) => String(name).endsWith(ending));
  const bytes = names.flatMap((name) => {
    const path = join(dataFolder, String(name));
    // A file may go between the two.
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
    return isFile ? [readFileSync(path)] : [];
  });
  return texts.filter((text) => bytes.some((file) => file.includes(text)));
}

async function filled(): Promise<CollectionRef> {
  const ref = await makeCollection(engine);
  const ids = Array.from({ length: ROWS }, (_, i) => `r${i}`);
  for (let from = 0; from < ROWS; from += 50)
    await write(engine, ref, "add", ...ids.slice(from, from + 50).map((id) => row(id, 1)));
  return ref;
}

const deleted = (): string[] => GONE.map((id) => `secret-${id}-`);

async function expectLeft(ref: CollectionRef): Promise<void> {
  const left = Array.from({ length: ROWS }, (_, i) => `r${i}`).filter((id) => !GONE.includes(id));
  expect((await idsOf(engine, ref)).toSorted()).toEqual(left.map((id) => `secret-${id}-id`).toSorted());
}

describe.each([
  ["in an environment of its own", null],
  ["in one that others share", SHARES],
] as const)("a server that purges, with a collection %s,", (_, limits) => {
  beforeEach(async () => {
    dataFolder = temporaryFolder();
    shareStores = limits;
    problems = [];
    await open(PURGE_AFTER_MS);
  });
  afterEach(() => engine.close());

  it("has no byte of a deleted record left, nor of a replaced one, and all the others", async () => {
    const ref = await filled();
    await expect.poll(() => found(deleted())).toHaveLength(GONE.length);
    await engine.delete(ref, { ids: GONE.map((id) => `secret-${id}-id`), where: null, limit: null });
    await write(engine, ref, "update", row("r1", 2));
    const gone = [...deleted(), "secret-r1-of-version-1-"];
    await expect.poll(() => found(gone), UNTIL_GONE).toEqual([]);
    expect(found(["secret-r1-of-version-2-", "secret-r2-of-version-1-"])).toHaveLength(2);
    await expectLeft(ref);
    expect(problems).toEqual([]);
    await engine.close();
    await open(PURGE_AFTER_MS);
    await expectLeft(ref);
    expect(problems).toEqual([]);
  });

  it("has no byte of a replaced record left where none was deleted", async () => {
    const ref = await filled();
    // So few that no merge is due.
    const replaced = ["secret-r0-of-version-1-"];
    await expect.poll(() => found(replaced, ".seg"), UNTIL_GONE).toEqual(replaced);
    await write(engine, ref, "update", row("r0", 2));
    await expect.poll(() => found(replaced), UNTIL_GONE).toEqual([]);
    expect(found(["secret-r0-of-version-2-"])).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it("removes what was set aside as damaged where nothing else is due", async () => {
    const ref = await filled();
    const index = new DataFolder(dataFolder).collectionIndex(ref.id);
    await expect.poll(() => existsSync(index), UNTIL_GONE).toBe(true);
    const aside = join(index, "quarantine");
    mkdirSync(join(aside, "folder.seg"), { recursive: true });
    writeFileSync(join(aside, "folder.seg", "file"), "");
    writeFileSync(join(aside, "file.seg"), "");
    symlinkSync("nowhere", join(aside, "link.seg"));
    await expect.poll(() => readdirSync(aside), UNTIL_GONE).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("goes on answering and writing meanwhile", async () => {
    const ref = await filled();
    await engine.delete(ref, { ids: GONE.map((id) => `secret-${id}-id`), where: null, limit: null });
    const over = new AbortController();
    const traffic = (async () => {
      for (let i = 0; !over.signal.aborted; i++) {
        await write(engine, ref, "upsert", row(`r${1 + 3 * (i % 20)}`, 2 + i));
        await expectLeft(ref);
      }
    })();
    await expect.poll(() => found(deleted()), UNTIL_GONE).toEqual([]);
    over.abort();
    await traffic;
    expect(problems).toEqual([]);
  });

  it("has long reads tried again, and never says that their collection is gone", async () => {
    await engine.close();
    await open(1_000);
    const ref = await makeCollection(engine);
    const large = (i: number): WriteRecord => record(`r${i}`, { document: `${i}`.repeat(300_000) });
    await write(engine, ref, "add", ...Array.from({ length: 12 }, (_, i) => large(i)));
    const refusals = new Set<unknown>();
    const until = Date.now() + 6_000;
    const read = async (): Promise<void> => {
      for (let reads = 0; Date.now() < until || reads === 0;) {
        try {
          expect(await readAll(engine, ref)).toHaveLength(12);
          reads++;
        } catch (error) {
          refusals.add((error as SheafError).code);
        }
      }
    };
    const change = async (): Promise<void> => {
      for (let i = 0; Date.now() < until; i++) await write(engine, ref, "upsert", large(i % 12));
    };
    await Promise.all([read(), read(), read(), change()]);
    refusals.delete("unavailable");
    expect([...refusals]).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("purges what was deleted before it was started, and forks", async () => {
    await engine.close();
    await open(Infinity);
    const ref = await filled();
    const fork = await engine.forkCollection(ref, "fork");
    for (const each of [ref, { ...ref, id: fork.id }])
      await engine.delete(each, { ids: GONE.map((id) => `secret-${id}-id`), where: null, limit: null });
    expect(found(deleted())).toHaveLength(GONE.length);
    await engine.close();
    await open(PURGE_AFTER_MS);
    await expect.poll(() => found(deleted()), UNTIL_GONE).toEqual([]);
    await expectLeft(ref);
    await expectLeft({ ...ref, id: fork.id });
    expect(problems).toEqual([]);
  });
});
