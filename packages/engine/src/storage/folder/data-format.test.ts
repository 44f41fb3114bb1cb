import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import type * as dataFormat from "./data-format.ts";
import { checkDataFormat, completeDataFormat, hadCatalog, prepareDataFormat } from "./data-format.ts";
import { DataFolder } from "./data-folder.ts";

describe("data format", () => {
  it("is written once and accepted from then on", () => {
    const folder = new DataFolder(`${temporaryFolder()}/deep/data`);
    prepareDataFormat(folder);
    expect(JSON.parse(readFileSync(folder.formatFile, "utf8"))).toEqual({ format: "sheaf-data", version: 3 });
    prepareDataFormat(folder);
  });

  it("remembers that there was a catalog, and goes on being accepted", () => {
    const folder = new DataFolder(temporaryFolder());
    prepareDataFormat(folder);
    expect(hadCatalog(folder)).toBe(false);
    for (let round = 0; round < 2; round++) {
      expect(completeDataFormat(folder, false)).toEqual({ before: 3, after: 3 });
      prepareDataFormat(folder);
      expect(hadCatalog(folder)).toBe(true);
    }
  });

  it.each([
    ["with a catalog", '{"format":"sheaf-data","version":1,"catalog":"made"}\n'],
    ["of before catalogs were remembered", '{"format":"sheaf-data","version":1}\n'],
  ])(
    "becomes version 3 of a folder of version 1 %s, not before its catalog is known to be whole",
    (_, text) => {
      const folder = new DataFolder(temporaryFolder());
      mkdirSync(folder.catalog);
      writeFileSync(folder.formatFile, text);
      prepareDataFormat(folder);
      checkDataFormat(folder);
      expect(readFileSync(folder.formatFile, "utf8")).toBe(text);
      expect(completeDataFormat(folder, false)).toEqual({ before: 1, after: 3 });
      expect(completeDataFormat(folder, false)).toEqual({ before: 3, after: 3 });
      const format = { format: "sheaf-data", version: 3, catalog: "made" };
      expect(JSON.parse(readFileSync(folder.formatFile, "utf8"))).toEqual(format);
      expect(readdirSync(folder.path).toSorted()).toEqual(["catalog", "format.json"]);
    },
  );

  it("says why it cannot be written", () => {
    const folder = new DataFolder(temporaryFolder());
    writeFileSync(folder.formatFile, '{"format":"sheaf-data","version":1}');
    mkdirSync(`${folder.formatFile}.new`);
    expect(() => completeDataFormat(folder, false)).toThrow("format.json cannot be written: ");
  });

  it.each([
    [1, "68e956e380e171a5e867c3c0f14a6f40dfb4dc0a"],
    [2, "bee620f342b79e10aefca9697addf012f410df43"],
    [3, "be6c1f5ee6733db8d95cba6ea03d1a53b69c9553"],
  ])("is refused by the last build of version %i, which is left as it was then", async (version, name) => {
    const source = readFileSync(new URL(`testing/data-format-v${version}.ts.txt`, import.meta.url));
    const blob = createHash("sha1").update(`blob ${source.length}\0`).update(source);
    // Its name in the history of this repository.
    expect(blob.digest("hex")).toBe(name);
    const folder = new DataFolder(temporaryFolder());
    const module = join(temporaryFolder(), "data-format.mjs");
    await build({
      stdin: {
        contents: source.toString(),
        loader: "ts",
        resolveDir: dirname(fileURLToPath(import.meta.url)),
      },
      ...{ bundle: true, platform: "node", format: "esm", conditions: ["@sheaf/source"], outfile: module },
    });
    const previous = (await import(module)) as Pick<
      typeof dataFormat,
      "prepareDataFormat" | "checkDataFormat"
    >;
    previous.prepareDataFormat(folder);
    expect(JSON.parse(readFileSync(folder.formatFile, "utf8"))).toMatchObject({ version });
    const { after } = completeDataFormat(folder, version === 3);
    const refusal = `names data format ${after}, made by a newer Sheaf; this one reads up to ${version}`;
    for (const open of [previous.prepareDataFormat, previous.checkDataFormat])
      expect(() => open(folder)).toThrow(refusal);
  });

  it("is that of shared environments only once there may be any, and stays", () => {
    const folder = new DataFolder(temporaryFolder());
    prepareDataFormat(folder);
    expect(completeDataFormat(folder, true)).toEqual({ before: 3, after: 4 });
    expect(completeDataFormat(folder, false)).toEqual({ before: 4, after: 4 });
  });

  it("is not made by whoever only looks", () => {
    const folder = new DataFolder(temporaryFolder());
    expect(() => checkDataFormat(folder)).toThrow("is no data folder of Sheaf");
    prepareDataFormat(folder);
    checkDataFormat(folder);
  });

  it("refuses a newer version by name", () => {
    const folder = new DataFolder(temporaryFolder());
    writeFileSync(folder.formatFile, '{"format":"sheaf-data","version":5}');
    expect(() => prepareDataFormat(folder)).toThrow(
      "names data format 5, made by a newer Sheaf; this one reads up to 4",
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
