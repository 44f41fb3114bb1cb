/** `sheaf backup verify` and `sheaf restore` of a backup that is damaged: the advice that they give, and that it can be followed. */
import { createLocalEngine } from "@sheaf/engine/local";
import { parseCreateCollection } from "@sheaf/protocol";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { main } from "../main.ts";

const AT = { tenant: "default_tenant", database: "default_database" };

interface Part {
  readonly bytes: number;
  readonly pack: { readonly name: string; readonly at: number };
}

let folder: string;
const lines: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sheaf-restore-"));
  const engine = await createLocalEngine({ dataFolder: join(folder, "data") });
  for (const name of ["first", "second"]) {
    const { id } = await engine.createCollection(parseCreateCollection({ name }, AT));
    const record = { id: "a", embedding: Float32Array.of(1, 2), document: null, uri: null, metadata: null };
    await engine.write({ ...AT, id }, { kind: "add", records: [record] });
  }
  await engine.makeBackup({ target: join(folder, "backup"), base: null, tenant: null, keys: false });
  await engine.close();
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  lines.length = 0;
  // The console is what a command writes to; listening to it replaces nothing of ours.
  for (const method of ["log", "error"] as const)
    vi.spyOn(console, method).mockImplementation((line: string) => lines.push(line));
});
afterEach(() => vi.restoreAllMocks());

/** A copy of the backup in which a byte of that part is another one. */
function damaged(name: string, partOf: (backup: string) => Part): string {
  const backup = join(folder, name);
  cpSync(join(folder, "backup"), backup, { recursive: true });
  const { bytes, pack } = partOf(backup);
  const path = join(backup, "packs", pack.name);
  const turned = readFileSync(path);
  turned[pack.at + (bytes >> 1)]! ^= 1;
  writeFileSync(path, turned);
  return backup;
}

it("restores what is whole where that is asked for, as it advises", async () => {
  const backup = damaged("records", (copy) => {
    const [first = ""] = readFileSync(join(copy, "collections.jsonl"), "utf8").split("\n");
    return (JSON.parse(first) as { readonly parts: readonly [Part] }).parts[0];
  });
  const restore = ["restore", backup, "--data", join(folder, "restored")];
  expect(await main(restore)).toBe(1);
  expect(lines.join("\n")).toMatch(/nothing was restored.*--skip-damaged/u);
  expect(await main([...restore, "--skip-damaged"])).toBe(1);
  expect(lines.join("\n")).toMatch(/restored 1 collection of the backup/u);
  expect(lines.at(-2)).toMatch(/^NOT restored: default_tenant\/default_database\/(?:first|second): /u);
});

it("names the catalog where that is damaged, and advises nothing that is refused", async () => {
  const backup = damaged("catalog", (copy) => {
    const { catalog } = JSON.parse(readFileSync(join(copy, "backup.json"), "utf8")) as {
      readonly catalog: readonly [Part];
    };
    return catalog[0];
  });
  expect(await main(["backup", "verify", backup])).toBe(1);
  expect(await main(["restore", backup, "--data", join(folder, "never"), "--skip-damaged"])).toBe(1);
  const said = lines.join("\n");
  expect(said.match(/it is the catalog, which every restore needs/gu)).toHaveLength(2);
  expect(said.match(/restore an earlier backup/gu)).toHaveLength(2);
  expect(said).not.toMatch(/--skip-damaged|--tenant/u);
});
