/**
 * A data folder as the last build of format 2 left it (folder-v2.tar.gz): tenant `acme` with a resource name, three keys of
 * its own and one of its database, and a key for all tenants. Nothing but their records leads to them.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { examineCatalog } from "./doctor/examine-catalog.ts";
import { createLocalEngine } from "./create-local-engine.ts";
import { DataFolder } from "./storage/folder/data-folder.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const ARCHIVE = fileURLToPath(new URL("storage/folder/testing/folder-v2.tar.gz", import.meta.url));
const ALL = { limit: null, offset: 0 };

it("finds the keys and tenants of a folder of version 2, and removes a tenant with its keys", async () => {
  const folder = new DataFolder(temporaryFolder());
  execFileSync("tar", ["-xzf", ARCHIVE, "-C", folder.path]);
  expect(readFileSync(folder.formatFile, "utf8")).toContain('"version":2');
  expect(examineCatalog(folder.path).findings).toEqual([]);

  let engine = await createLocalEngine({ dataFolder: folder.path });
  const names = async (): Promise<readonly string[]> =>
    (await engine.listKeys(ALL)).items.map(({ name }) => name);
  expect(await names()).toEqual(["k1", "k2", "k3", "db", "all"]);
  await expect(engine.updateTenant("default_tenant", "acme-res")).rejects.toMatchObject({
    code: "already_exists",
  });
  await engine.close();
  expect(examineCatalog(folder.path).findings).toEqual([]);

  engine = await createLocalEngine({ dataFolder: folder.path });
  await engine.deleteDatabase({ tenant: "acme", database: "notes" });
  expect(await names()).toEqual(["k1", "k2", "k3", "all"]);
  await engine.deleteTenant("acme");
  expect(await names()).toEqual(["all"]);
  await engine.updateTenant("default_tenant", "acme-res");
  await engine.close();
  expect(examineCatalog(folder.path)).toMatchObject({ findings: [], complete: true });
});
