/** Index files of a running server that are damaged: every answer is right or 503, and the server helps itself. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { collectionFile } from "./testing/damage-files.ts";
import { KnownCollection, hostPid } from "./testing/known-collection.ts";

const SIZE = 300;
const ENV = { SHEAF_INDEX_FILES: "32/128", SHEAF_LOG_LEVEL: "info" };
const EVEN = Array.from({ length: 40 }, (_, i) => 2 * i);

let served: ServedSheaf;
let collection: KnownCollection;

beforeEach(async () => {
  served = await ServedSheaf.start({ env: ENV });
  collection = await KnownCollection.make(() => served, "indexed", SIZE);
  await settled();
});
afterEach(() => served.dispose());

function indexFolder(): string {
  return join(dirname(collectionFile(served.data, collection.id)), "index");
}

function indexFiles(): string[] {
  const folder = indexFolder();
  return existsSync(folder) ? readdirSync(folder).filter((name) => name !== "quarantine") : [];
}

/** Until a manifest stays the newest. */
async function settled(): Promise<void> {
  for (let before = "", same = 0; same < 4;) {
    await sleep(500);
    const now = indexFiles().toSorted().join();
    same = now.includes("manifest-") && now === before ? same + 1 : 0;
    before = now;
  }
}

/** In place, so that the server, which has it open, reads other bytes. */
function ruin(name: string): void {
  const path = join(indexFolder(), name);
  writeFileSync(path, readFileSync(path).fill(0x5a), { flag: "r+" });
}

async function damagedFiles(): Promise<number> {
  const text = await (await served.request("/metrics")).text();
  return Number(/^sheaf_index_damaged_files (\d+)$/mu.exec(text)?.[1]);
}

/** By a filter, by a vector, all: right, or 503. Returns how many were refused. */
async function refusals(): Promise<number> {
  const where = { n: { $in: EVEN } };
  const answers = [
    await collection.ask("get", { where, include: [] }),
    await collection.query(7),
    await collection.ask("count"),
  ];
  const expected = [{ ids: EVEN.map((n) => `r${n}`) }, { ids: [["r7"]] }, SIZE];
  let refused = 0;
  for (const [i, { status, body }] of answers.entries()) {
    if (status === 503) refused++;
    else expect({ status, body }).toMatchObject({ status: 200, body: expected[i] });
  }
  return refused;
}

function rebuilt(): string[] {
  return served.output.split("\n").filter((line) => /rebuilt \d+ rows of lost index files in/u.test(line));
}

describe("damaged index files of a running server", () => {
  it("are found by requests, set aside and made again, without a restart and a wrong answer", async () => {
    // What it has sealed itself it has in memory.
    const { data } = served;
    expect(await served.stop()).toBe(0);
    // Rows that are made again are not merged with those of another segment, so all other files have to stay.
    served = await ServedSheaf.start({ env: { ...ENV, SHEAF_INDEX_FILES: "32/32" }, data });
    expect((await collection.ask("count")).body).toBe(SIZE);
    const host = await hostPid(served);
    const segments = indexFiles().filter((name) => name.endsWith(".seg"));
    expect(segments.length).toBeGreaterThan(1);
    ruin(segments[0]!);
    await expect.poll(async () => (await refusals()) === 0 && (await damagedFiles()) === 1).toBe(true);
    await expect.poll(rebuilt).toHaveLength(1);
    expect(served.output.match(/index file is damaged/gu)).toHaveLength(1);
    expect(await hostPid(served)).toBe(host);
    expect(await refusals()).toBe(0);
    await settled();
    expect(indexFiles()).toEqual(expect.arrayContaining(segments.slice(1)));
    expect(readdirSync(join(indexFolder(), "quarantine"))).toHaveLength(1);
  });

  it("are made again by the next server, at whatever moment this one is killed", async () => {
    const kills = 4;
    for (let kill = 0; kill < kills; kill++) {
      const name = indexFiles().find((one) => one.endsWith(kill % 2 === 0 ? ".seg" : ".dead"));
      if (name !== undefined) ruin(name);
      await Promise.race([refusals().catch(() => {}), sleep(kill * 15)]);
      served.process.kill("SIGKILL");
      const { data } = served;
      served = await ServedSheaf.start({ env: ENV, data });
      await expect.poll(refusals).toBe(0);
      if (kill === 1)
        rmSync(
          join(
            indexFolder(),
            indexFiles().find((one) => one.endsWith(".seg"))!,
          ),
        );
    }
    await settled();
    expect(await refusals()).toBe(0);
  });
});
