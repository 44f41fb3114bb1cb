import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { checkDataFormat, hadCatalog, prepareDataFormat, rememberCatalog } from "./data-format.ts";
import { DataFolder } from "./data-folder.ts";

describe("data format", () => {
  it("is written once and accepted from then on", () => {
    const folder = new DataFolder(`${temporaryFolder()}/deep/data`);
    prepareDataFormat(folder);
    expect(JSON.parse(readFileSync(folder.formatFile, "utf8"))).toEqual({ format: "sheaf-data", version: 1 });
    prepareDataFormat(folder);
  });

  it("remembers that there was a catalog, and goes on being accepted", () => {
    const folder = new DataFolder(temporaryFolder());
    prepareDataFormat(folder);
    expect(hadCatalog(folder)).toBe(false);
    for (let round = 0; round < 2; round++) {
      rememberCatalog(folder);
      prepareDataFormat(folder);
      expect(hadCatalog(folder)).toBe(true);
    }
  });

  it("is not made by whoever only looks", () => {
    const folder = new DataFolder(temporaryFolder());
    expect(() => checkDataFormat(folder)).toThrow("is no data folder of Sheaf");
    prepareDataFormat(folder);
    checkDataFormat(folder);
  });

  it("refuses a newer version by name", () => {
    const folder = new DataFolder(temporaryFolder());
    writeFileSync(folder.formatFile, '{"format":"sheaf-data","version":2}');
    expect(() => prepareDataFormat(folder)).toThrow(
      "names data format 2, made by a newer Sheaf; this one reads up to 1",
    );
  });

  it.each(["", "[]", "null", '{"format":"other","version":1}', '{"format":"sheaf-data","version":"1"}'])(
    "refuses a file that holds %j",
    (text) => {
      const folder = new DataFolder(temporaryFolder());
      writeFileSync(folder.formatFile, text);
      expect(() => prepareDataFormat(folder)).toThrow(folder.formatFile);
      expect(readFileSync(folder.formatFile, "utf8")).toBe(text);
    },
  );

  it("refuses data that lost its version", () => {
    const folder = new DataFolder(temporaryFolder());
    mkdirSync(folder.catalog);
    expect(() => prepareDataFormat(folder)).toThrow("is missing beside existing data");
  });
});
