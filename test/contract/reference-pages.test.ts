/** The generated pages are what the code says now. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { referencePages } from "../../scripts/docs/reference-pages.ts";

describe("docs/reference", () => {
  it.each(Object.entries(referencePages()))("%s is up to date (npm run docs)", async (name, text) => {
    expect(await readFile(new URL(`../../docs/reference/${name}`, import.meta.url), "utf8")).toBe(text);
  });
});
