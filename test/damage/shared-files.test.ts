/** A damaged file that collections share takes these along, and no others; `sheaf doctor` names each of them. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { sharedName } from "../../packages/engine/src/storage/folder/shared-names.ts";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { cutInHalf, edit, zeroMetaPage } from "./testing/damage-files.ts";
import { runSheaf } from "./testing/run-sheaf.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const MADE = 40;

let served: ServedSheaf;

afterEach(() => served.dispose());

interface Collection {
  readonly name: string;
  readonly id: string;
}

async function make(n: number): Promise<Collection> {
  const name = `shared-${n}`;
  const { id } = await served.ask<{ id: string }>(COLLECTIONS, { name });
  await add(id, "first");
  return { name, id };
}

async function add(id: string, record: string): Promise<void> {
  await served.ask(`${COLLECTIONS}/${id}/upsert`, { ids: [record], embeddings: [[1, 2]] });
}

/** Its answer to a read of everything, and to a write. */
async function answers(id: string): Promise<readonly (number | string)[]> {
  const read = await served.request(`${COLLECTIONS}/${id}/get`, { json: {} });
  const { ids = [], message = "" } = (await read.json()) as { ids?: string[]; message?: string };
  const says = message.includes("sheaf doctor") ? "sheaf doctor" : message;
  const json = { ids: ["second"], embeddings: [[1, 2]] };
  const written = await served.request(`${COLLECTIONS}/${id}/upsert`, { json });
  return [read.status, says, ids.join(), written.status];
}

it.each([
  ["whose meta page is lost", (path: string) => zeroMetaPage(path, 0)],
  ["that was cut in half", cutInHalf],
  ["that holds something else", (path: string) => edit(path, (bytes) => bytes.fill(0x5a))],
])("a file %s takes its collections along, and no others", { timeout: 120_000 }, async (_what, damage) => {
  served = await ServedSheaf.start();
  const made: Collection[] = [];
  for (let n = 0; n < MADE; n++) made.push(await make(n));
  await served.stop();
  const names = made.map(({ id }) => sharedName(id));
  const worst = names.toSorted((a, b) => countOf(names, b) - countOf(names, a))[0]!;
  const lost = made.filter(({ id }) => sharedName(id) === worst);
  const sound = made.filter(({ id }) => sharedName(id) !== worst);
  expect(lost.length).toBeGreaterThan(1);
  damage(join(served.data, worst, "data.mdb"));

  const { code, out } = await runSheaf("doctor", "--data", served.data, "--json");
  expect(code).toBe(1);
  const { findings } = JSON.parse(out) as { findings: { severity: string; subject: string }[] };
  const named = findings.filter(({ severity }) => severity === "damage").map(({ subject }) => subject);
  for (const { name } of lost) expect(named.some((subject) => subject.includes(`${name} (`))).toBe(true);
  for (const { name } of sound) expect(named.some((subject) => subject.includes(`${name} (`))).toBe(false);

  served = await ServedSheaf.start({ data: served.data });
  for (const { id } of sound) expect(await answers(id)).toEqual([200, "", "first", 200]);
  for (const { id } of lost) expect(await answers(id)).toEqual([500, "sheaf doctor", "", 500]);
  const metrics = await (await served.request("/metrics")).text();
  expect(metrics).toContain(`sheaf_damaged_collections ${lost.length}`);
  for (const { id } of sound) await add(id, "third");
  // A collection that is lost can be removed, and one that is made anew beside it is served as soon as the file is away.
  await served.request(`${COLLECTIONS}/${lost[0]!.name}`, { method: "DELETE" });
  expect((await answers(lost[0]!.id))[0]).toBe(404);
  await served.stop();
  rmSync(join(served.data, worst), { recursive: true });
  served = await ServedSheaf.start({ data: served.data });
  for (const { id } of sound) expect((await answers(id))[2]).toBe("first,second,third");
});

function countOf(names: readonly string[], name: string): number {
  return names.filter((other) => other === name).length;
}
