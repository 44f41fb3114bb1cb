import { chmodSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { restrictAccess } from "./restrict-access.ts";

function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

/** A data folder as other programs and an older Sheaf left it: open to everybody. */
function openFolder(): string {
  const folder = temporaryFolder();
  for (const path of ["catalog", "collections/ab/id", "models/prepared", "spool", "trash"]) {
    mkdirSync(join(folder, path), { recursive: true, mode: 0o755 });
  }
  for (const path of ["format.json", "root-key", "catalog/data.mdb", "collections/ab/id/data.mdb"]) {
    writeFileSync(join(folder, path), "", { mode: 0o644 });
  }
  chmodSync(folder, 0o755);
  return folder;
}

describe("restrictAccess", () => {
  it("closes folders and files, whoever made them", () => {
    const folder = openFolder();
    expect(restrictAccess(folder)).toEqual([]);
    for (const path of [
      "",
      "catalog",
      "collections",
      "collections/ab",
      "collections/ab/id",
      "models",
      "spool",
    ]) {
      expect(mode(join(folder, path)), path).toBe(0o700);
    }
    for (const path of ["format.json", "root-key", "catalog/data.mdb", "collections/ab/id/data.mdb"]) {
      expect(mode(join(folder, path)), path).toBe(0o600);
    }
  });

  it("leaves files that others share as they are, and what links lead to", () => {
    const folder = openFolder();
    const shared = join(temporaryFolder(), "weights");
    writeFileSync(shared, "", { mode: 0o644 });
    linkSync(shared, join(folder, "models/prepared/weights"));
    symlinkSync(shared, join(folder, "models/prepared/link"));
    restrictAccess(folder);
    expect(mode(shared)).toBe(0o644);
  });

  it("does not close a folder that holds other folders too, and says so", () => {
    const folder = openFolder();
    mkdirSync(join(folder, "photos"), { mode: 0o755 });
    expect(restrictAccess(folder)).toEqual([
      `${folder} is open to others, and was left so because it holds photos too`,
    ]);
    expect(mode(folder)).toBe(0o755);
    expect(mode(join(folder, "photos"))).toBe(0o755);
    expect(mode(join(folder, "catalog"))).toBe(0o700);
    chmodSync(folder, 0o700);
    expect(restrictAccess(folder)).toEqual([]);
  });
});
