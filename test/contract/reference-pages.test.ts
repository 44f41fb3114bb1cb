/** The generated pages are what the code says now. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { LIMITS, type LimitName } from "@sheaf/protocol";
import { referencePages } from "../../scripts/docs/reference-pages.ts";

describe("docs/reference", () => {
  it.each(Object.entries(referencePages()))("%s is up to date (npm run docs)", async (name, text) => {
    expect(await readFile(new URL(`../../docs/reference/${name}`, import.meta.url), "utf8")).toBe(text);
  });
});

describe("docs/guide/clients.md", () => {
  const MIB = 1024 * 1024;
  /** Bounds of the page in units of their own. */
  const UNITS: { readonly [name in LimitName]?: number } = {
    documentBytes: MIB,
    metadataValueBytes: MIB,
    bodyBytes: MIB,
    regexBytes: MIB,
    configurationBytes: 1024,
    collectionMetadataBytes: 1024,
    listBytes: MIB,
  };
  const NAMED: readonly LimitName[] = [
    ..."idBytes dimensions documentBytes uriBytes metadataKeys metadataKeyBytes metadataValueBytes".split(
      " ",
    ),
    ..."collectionMetadataBytes listBytes".split(" "),
    ..."sparseNonZeros configurationBytes schemaKeys tenantNameBytes bodyBytes jsonDepth jsonNodes".split(
      " ",
    ),
    ..."jsonContainers jsonMembers recordsPerWrite resultsPerQuery resultsPerCall queriesPerCall".split(" "),
    ..."whereNodes whereValues regexPatterns regexCharacters regexBytes resultsPerPage knnLimit".split(" "),
  ] as LimitName[];

  it.each(NAMED)("names the bound %s", async (name) => {
    const page = await readFile(new URL("../../docs/guide/clients.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("## Limits that Chroma's server lacks");
    const value = (LIMITS[name] / (UNITS[name] ?? 1)).toLocaleString("en");
    expect(section.split("\n## ")[0]).toMatch(new RegExp(`(?<![\\d,.])${value}(?![\\d,.]*\\d)`, "u"));
  });
});
