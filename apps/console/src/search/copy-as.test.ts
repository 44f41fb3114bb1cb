/** Texts are quoted so that each language reads what was meant: the programs themselves say so. */
import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asCurl, asPython, asTypeScript, extensionIn, pythonText, shellText } from "./copy-as.ts";

const INFO = { name: "notes", tenant: "default_tenant", database: "default_database" };
const SEARCH = {
  ...{ url: "https://sheaf.example/prefix", path: "/api/v2/tenants/t/databases/d/collections/c", info: INFO },
  ...{ dictionary: { rank: { $knn: { query: "it's $HOME `x`" } }, limit: { limit: 3 } }, hasKey: true },
};
/** No program takes a zero byte among its arguments. */
const texts = fc.array(
  fc.string({ unit: "binary" }).map((text) => text.replaceAll("\u0000", "")),
  { maxLength: 20 },
);

describe("quoting", () => {
  it("for a shell is what a shell takes apart again", () => {
    fc.assert(
      fc.property(texts, (values) => {
        const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${values.map(shellText).join(" ")}`]);
        const read = values.length === 0 ? [] : printed.toString().split("\u0000").slice(0, -1);
        expect(read).toEqual(values.map((text) => Buffer.from(text).toString()));
      }),
      { numRuns: 30 },
    );
  });

  it("for Python and TypeScript is a literal of the same value", () => {
    const values = fc.sample(fc.jsonValue({ stringUnit: "binary" }), 200);
    const program = `import json\nprint(json.dumps([${values.map(pythonText).join(",\n")}]))`;
    const printed = execFileSync("python3", ["-"], { input: program }).toString();
    expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(values)));
    for (const value of values) {
      const written = JSON.stringify(value);
      expect(JSON.stringify(runInNewContext(`(${written})`))).toBe(written);
    }
  });
});

describe("a copied search", () => {
  it.each([asCurl, asTypeScript, asPython])("%o names the key and does not hold one", (write) => {
    const program = write(SEARCH);
    expect(program).toContain("SHEAF_KEY");
    expect(write({ ...SEARCH, hasKey: false })).not.toContain("SHEAF_KEY");
  });

  it("is for Chroma's clients where it has no extension", () => {
    expect(extensionIn(SEARCH.dictionary)).toBeNull();
    expect(extensionIn({ mmr: {} })).toBe("mmr");
    expect(extensionIn({ rank: { $sum: [{ $val: 1 }, { $age: { key: "made" } }] } })).toBe("$age");
  });
});
