/** What the doctor finds where collections share environments, and what it saves. */
import { existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CollectionRef } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { createLocalEngine } from "../create-local-engine.ts";
import { sharedName } from "../storage/folder/shared-names.ts";
import { makeCollection, readAll, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { compactFolder } from "./compact-folder.ts";
import { examineFolder } from "./examine-folder.ts";
import { InspectionProcess } from "./inspection-process.ts";
import { salvage } from "./salvage.ts";

const shareStores = { records: 200, bytes: 10_000_000 };
let dataFolder: string;
/** The first two lie in one environment. */
let refs: readonly CollectionRef[];

beforeEach(async () => {
  dataFolder = temporaryFolder();
  const engine = await createLocalEngine({ dataFolder, shareStores });
  const made: CollectionRef[] = [];
  const isWithFirst = ({ id }: CollectionRef): boolean => sharedName(id) === sharedName(made[0]!.id);
  const parted = (): [CollectionRef[], CollectionRef[]] => [
    made.filter((ref) => isWithFirst(ref)),
    made.filter((ref) => !isWithFirst(ref)),
  ];
  while (parted()[0].length < 2 || parted()[1].length < 1) made.push(await makeCollection(engine));
  const [inOne, elsewhere] = parted();
  refs = [...inOne.slice(0, 2), ...elsewhere, ...inOne.slice(2)];
  for (const [i, ref] of refs.slice(0, 3).entries())
    await write(engine, ref, "add", ...Array.from({ length: 40 }, (_, n) => documentOf(i, n)));
  await engine.close();
});

function documentOf(collection: number, n: number): ReturnType<typeof record> {
  return record(`r${n}`, { document: `document ${n} of ${collection} ${"x".repeat(500)}` });
}

const examine = (): ReturnType<typeof examineFolder> => examineFolder({ dataFolder, diskReserve: 0 });
const environmentOf = ({ id }: CollectionRef): string => join(dataFolder, sharedName(id), "data.mdb");

function damage(file: string, text: string): void {
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes[at]! ^= 1;
  writeFileSync(file, bytes);
}

function saved(collection: string): { readonly lines: readonly string[]; readonly problems: number } {
  const to = join(temporaryFolder(), "saved.jsonl");
  const done = salvage({ dataFolder, collection, tenant: "", database: "", to });
  if (done.usedBy !== null) throw new Error("in use");
  return { lines: readFileSync(to, "utf8").trim().split("\n"), problems: done.problems.length };
}

describe("the doctor, where collections share environments", () => {
  it("finds nothing in a sound folder, and counts what is there", async () => {
    expect(await examine()).toMatchObject({ findings: [], collections: refs.length, records: 120 });
  });

  it("names the collection of a record that cannot be read, and saves the others", async () => {
    damage(environmentOf(refs[0]!), "document 7 of 0");
    const { findings, records } = await examine();
    expect(records).toBe(119);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ severity: "damage" });
    expect(findings[0]?.subject).toContain(refs[0]!.id);
    expect(findings[0]?.problem).toContain('1 of 40 records cannot be read: "r7"');
    expect(saved(refs[0]!.id)).toMatchObject({ problems: 1 });
    expect(saved(refs[0]!.id).lines).toHaveLength(39);
    const { lines, problems } = saved(refs[1]!.id);
    expect([lines.length, problems]).toEqual([40, 0]);
    expect(lines[3]).toContain("document 3 of 1");
  });

  it("tells of the environment and of each collection that lost something where pages are gone", async () => {
    const file = environmentOf(refs[0]!);
    truncateSync(file, readFileSync(file).length - 5 * 4_096);
    const { findings } = await examine();
    const subjects = findings.map(({ subject }) => subject).join();
    expect(subjects).toContain(`environment ${sharedName(refs[0]!.id)}`);
    const damaged = findings.filter(({ severity }) => severity === "damage");
    expect(damaged.map(({ subject }) => subject)).toContainEqual(
      expect.stringContaining(`environment ${sharedName(refs[0]!.id)}`),
    );
    const inspection = new InspectionProcess(dataFolder);
    expect(await inspection.check(sharedName(refs[0]!.id))).toContain("damaged");
    expect(await inspection.check(sharedName(refs[2]!.id))).toBeNull();
    await inspection.close();
  });

  it("misses what a collection has lost whole", async () => {
    const { stores } = await compactFolder({ dataFolder });
    expect(stores.flatMap(({ problem }) => problem ?? [])).toEqual([]);
    truncateSync(environmentOf(refs[0]!), 0);
    const { findings } = await examine();
    const lost = findings.filter(({ problem }) => problem.includes("0 operations of at least 40"));
    expect(
      lost.map(({ subject }) => refs.findIndex(({ id }) => subject.includes(id))).toSorted((a, b) => a - b),
    ).toEqual([0, 1]);
  });

  it("compacts what they share, and nothing is lost", async () => {
    const { stores, withoutStore } = await compactFolder({ dataFolder });
    const shared = stores.filter(({ subject }) => subject.includes("which collections share"));
    expect(shared.length).toBeGreaterThan(0);
    expect(withoutStore).toBe(0);
    expect(stores.flatMap(({ problem }) => problem ?? [])).toEqual([]);
    expect(existsSync(join(dataFolder, "collections"))).toBe(false);
    const engine = await createLocalEngine({ dataFolder });
    for (const [i, ref] of refs.slice(0, 3).entries())
      expect(await readAll(engine, ref)).toEqual(Array.from({ length: 40 }, (_, n) => documentOf(i, n)));
    await engine.close();
  });
});
