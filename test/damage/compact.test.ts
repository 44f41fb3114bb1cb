/** `sheaf compact` gives space back, loses nothing when it is killed, and leaves alone what it should. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { OWN_FILES, collectionFile, cutInHalf, flipIn } from "./testing/damage-files.ts";
import { COLLECTIONS, KnownCollection, documentOf } from "./testing/known-collection.ts";
import { runSheaf } from "./testing/run-sheaf.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const ROWS = 12_000;
const BATCH = 2_000;
const DIMENSION = 256;
const KILLS = 8;

let served: ServedSheaf;
let id: string;
let sound: KnownCollection;

const current = (): ServedSheaf => served;
const isLeft = (n: number): boolean => n % 10 === 0;
const vectorOf = (n: number): number[] =>
  Array.from({ length: DIMENSION }, (_, j) => Math.fround(Math.sin(n * 12.9898 + j * 78.233)));
const size = (): number => statSync(collectionFile(served.data, id)).size;

beforeAll(async () => {
  served = await ServedSheaf.start({ env: OWN_FILES });
  sound = await KnownCollection.make(current, "sound");
  ({ id } = await served.ask<{ id: string }>(COLLECTIONS, { name: "emptied" }));
  for (let from = 0; from < ROWS; from += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, i) => from + i);
    await served.ask(`${COLLECTIONS}/${id}/add`, {
      ids: rows.map((n) => `r${n}`),
      embeddings: rows.map(vectorOf),
    });
    const ids = rows.filter((n) => !isLeft(n)).map((n) => `r${n}`);
    await served.ask(`${COLLECTIONS}/${id}/delete`, { ids });
  }
});
afterAll(() => served.dispose());

async function expectAll(): Promise<void> {
  const got = await served.ask<{ ids: string[]; embeddings: number[][] }>(`${COLLECTIONS}/${id}/get`, {
    include: ["embeddings"],
  });
  const left = Array.from({ length: ROWS }, (_, n) => n).filter(isLeft);
  expect(got.ids).toEqual(left.map((n) => `r${n}`));
  const embeddings = got.embeddings.map((vector) => vector.map(Math.fround));
  expect(embeddings).toEqual(left.map(vectorOf));
  await sound.expectSound();
}

async function compact(): Promise<{ code: number; report: CompactReport }> {
  const { code, out, errors } = await runSheaf("compact", "--data", served.data, "--json");
  expect(errors).toBe("");
  return { code, report: JSON.parse(out) as CompactReport };
}

interface CompactReport {
  readonly usedBy: string | null;
  readonly before: number;
  readonly after: number;
  readonly stores: readonly { readonly subject: string; readonly problem: string | null }[];
}

/** After so many milliseconds, if it still runs; whether it did. */
async function killedAfter(milliseconds: number): Promise<boolean> {
  const child = spawn(process.execPath, [COMMAND, "compact", "--data", served.data], { stdio: "ignore" });
  const ended = once(child, "exit");
  await Promise.race([sleep(milliseconds), ended]);
  child.kill("SIGKILL");
  await ended;
  return child.signalCode === "SIGKILL";
}

describe("sheaf compact", () => {
  it("does nothing to a folder that a server uses", async () => {
    const before = size();
    expect(await compact()).toMatchObject({
      code: 3,
      report: { usedBy: `process ${served.pid}`, stores: [] },
    });
    const { code, out } = await runSheaf("compact", "--data", served.data);
    expect({ code, out }).toMatchObject({ code: 3, out: expect.stringContaining("nothing was done") });
    expect(size()).toBe(before);
  });

  it("loses nothing when it is killed at any moment", async () => {
    await served.stop();
    let longest = 0;
    for (let done = false; !done; longest += 200) done = !(await killedAfter(longest));
    let killed = 0;
    for (let i = 0; i < KILLS; i++) {
      if (await killedAfter(Math.random() * longest)) killed++;
      expect(await runSheaf("doctor", "--data", served.data)).toMatchObject({ code: 0 });
    }
    expect(killed).toBeGreaterThan(0);
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    await expectAll();
    expect(existsSync(join(served.data, "trash"))).toBe(false);
  });

  it("gives the space of deleted records back, and the collections go on as they were", async () => {
    const rows = Array.from({ length: BATCH }, (_, i) => ROWS + i);
    await served.ask(`${COLLECTIONS}/${id}/add`, {
      ids: rows.map((n) => `r${n}`),
      embeddings: rows.map(vectorOf),
    });
    await served.ask(`${COLLECTIONS}/${id}/delete`, { ids: rows.map((n) => `r${n}`) });
    await served.ask(COLLECTIONS, { name: "unwritten" });
    await served.stop();
    const [before, mode] = [size(), statSync(collectionFile(served.data, id)).mode];
    const { code, report } = await compact();
    expect({ code, report }).toMatchObject({
      code: 0,
      report: {
        usedBy: null,
        withoutStore: 1,
        stores: [{ subject: "the catalog" }, { problem: null }, { problem: null }],
      },
    });
    expect(report.before - report.after).toBeGreaterThan(before / 3);
    expect(size()).toBeLessThan((before * 2) / 3);
    expect(statSync(collectionFile(served.data, id)).mode).toBe(mode);
    expect(readdirSync(join(served.data, "trash"))).toEqual([]);
    const { out } = await runSheaf("compact", "--data", served.data);
    expect(out).toMatch(
      /^1 of 3: the catalog: [1-9]\d* KiB before, [1-9]\d* KiB now\n2 of 3: collection .*\n3 of 3: .*\n.*: \d+\.\d MiB before, .* now; collections without a store \(never written to\): 1\n$/u,
    );
    expect(await runSheaf("doctor", "--data", served.data)).toMatchObject({ code: 0 });
    served = await ServedSheaf.start({ data: served.data, env: OWN_FILES });
    await expectAll();
    // A commit that frees many pages is the first one of the new file.
    const all = Array.from({ length: ROWS }, (_, n) => `r${n}`);
    await served.ask(`${COLLECTIONS}/${id}/delete`, { ids: all });
    expect(await served.ask<number>(`${COLLECTIONS}/${id}/count`)).toBe(0);
    await sound.expectSound();
  });

  it("leaves a damaged collection as it is, and says so", async () => {
    await served.stop();
    const path = collectionFile(served.data, id);
    cutInHalf(path);
    const damaged = readFileSync(path);
    const { code, report } = await compact();
    expect(code).toBe(1);
    const problems = report.stores.filter(({ problem }) => problem !== null);
    expect(problems).toMatchObject([{ subject: expect.stringContaining("emptied") }]);
    expect(readFileSync(path).equals(damaged)).toBe(true);
  });

  it("leaves one whose record has a wrong checksum, which a copy would have too", async () => {
    const path = collectionFile(served.data, sound.id);
    flipIn(path, documentOf("sound", 31));
    const damaged = readFileSync(path);
    const { code, report } = await compact();
    expect(code).toBe(1);
    expect(report.stores).toContainEqual({
      subject: expect.stringContaining("sound"),
      before: 0,
      after: 0,
      problem: expect.stringMatching(/1 of 60 records cannot be read: "r31"/),
    });
    expect(readFileSync(path).equals(damaged)).toBe(true);
  });
});
