/** Texts are quoted so that each language reads what was meant: the programs themselves say so. */
import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asCurl, asPython, asTypeScript, extensionIn, shellText } from "./copy-as.ts";
import { pythonRank } from "./python-rank.ts";
import { pythonText } from "./python-text.ts";

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

  it("has its rank in the words of Chroma's Search API, or is refused there", () => {
    const knn = { $knn: { query: "it's", key: "bm25", return_rank: true } };
    const rank = {
      $mul: [{ $sum: [{ $div: { left: { $val: 1 }, right: knn } }, { $exp: knn }] }, { $val: -1 }],
    };
    const leaf = 'Knn(query="it\'s", key="bm25", return_rank=True)';
    expect(pythonRank(rank)).toBe(`(((Val(1) / ${leaf}) + ${leaf}.exp()) * Val(-1))`);
    expect(pythonRank({ $max: [{ $val: 1 }, { $val: 2 }, knn] })).toBe(`Val(1).max(Val(2)).max(${leaf})`);
    for (const other of [
      { $knn: { query: { indices: [1], values: [1] } } },
      { $new: [] },
      { $sum: [{ $new: 1 }] },
      1,
    ]) {
      expect(pythonRank(other)).toBeNull();
      expect(extensionIn({ rank: other })).toBe("such a rank");
    }
  });

  it("is for Chroma's clients where it has no extension", () => {
    expect(extensionIn(SEARCH.dictionary)).toBeNull();
    expect(extensionIn({ mmr: {} })).toBe("mmr");
    expect(extensionIn({ rank: { $sum: [{ $val: 1 }, { $age: { key: "made" } }] } })).toBe("$age");
  });
});
