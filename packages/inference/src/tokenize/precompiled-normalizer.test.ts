import { readFile } from "node:fs/promises";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { fixtureFolder, readGolden } from "../graph/testing/fixture-models.ts";
import { createPrecompiledNormalizer } from "./precompiled-normalizer.ts";

/** A charsmap that replaces single bytes, one step of the trie each: byte -> replacement. */
function singleByteCharsmap(replacements: ReadonlyMap<number, string>): string {
  const units = new Uint32Array(1024);
  // The root's children start at 256, each child's value at 512 + byte.
  units[0] = 256 << 10;
  let strings = "";
  for (const [byte, replacement] of replacements) {
    const child = 256 ^ byte;
    units[child] = ((child ^ (512 + byte)) << 10) | (1 << 8) | byte;
    units[512 + byte] = Buffer.byteLength(strings);
    strings += `${replacement}\0`;
  }
  const size = Buffer.alloc(4);
  size.writeUInt32LE(units.byteLength);
  return Buffer.concat([size, Buffer.from(units.buffer), Buffer.from(strings)]).toString("base64");
}

describe("with the map of a SentencePiece model", () => {
  let normalize: (text: string) => string;

  beforeAll(async () => {
    const file = `${fixtureFolder("tiny-xlmr-cls")}/tokenizer.json`;
    const { normalizer } = JSON.parse(await readFile(file, "utf8")) as {
      normalizer: { normalizers: { precompiled_charsmap?: string }[] };
    };
    normalize = createPrecompiledNormalizer(normalizer.normalizers[0]?.precompiled_charsmap ?? "");
  });

  test("normalizes every golden text like the reference", async () => {
    const { cases, tokenizer_cases: more } = await readGolden("tiny-xlmr-cls");
    const texts = [...cases.map((c) => ({ text: c.prompt_text, normalized: c.normalized })), ...more];
    expect(texts.length).toBeGreaterThan(80);
    for (const { text, normalized } of texts) {
      // The tokenizer's second step joins runs of blanks.
      expect(normalize(text).replaceAll(/ {2,}/g, " ")).toBe(normalized);
    }
  });

  test("keeps a zero-width joiner and maps compatibility characters", () => {
    expect(normalize("\u{1f469}\u200d\u{1f4bb}")).toBe("\u{1f469}\u200d\u{1f4bb}");
    expect(normalize("\ufb01\uff21\u2460")).toBe("fiA1");
    expect(normalize("a\u3000b\tc")).toBe("a b c");
  });

  test("works cluster by cluster, whatever stands beside one", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 8 }),
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("\r\n", "\r", "\n", "e\u0301", "\u00a9\u200d\u00ae", "\u0600", "1", "\u00ad"),
      fc.constantFrom(
        "\u0915\u094d\u0937",
        "\u1112\u1161\u11ab",
        "\u{1f1e9}",
        "\u{1f3fd}",
        "\u304b\u3099",
        "\u6771",
      ),
      fc.constantFrom(
        "\u{1f469}\u{1f3fd}\u200d\u{1f4bb}",
        "z\u0335\u0321".repeat(40),
        `a${"\u0301".repeat(200)}`,
      ),
    );
    const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join("");
        const byCluster = [...segmenter.segment(text)].map(({ segment }) => normalize(segment)).join("");
        expect(normalize(text)).toBe(byCluster);
      }),
      { numRuns: 2000 },
    );
  });

  test("reads long texts of every script in pieces", () => {
    for (const unit of [
      "\u6771",
      "\u0627\u0644 ",
      "\u0e01\u0e33",
      "\ud55c\uae00",
      "\u{1f469}\u200d\u{1f4bb}",
      "\u0915\u0940",
    ]) {
      const text = unit.repeat(50_000);
      expect(normalize(text)).toBe(normalize(unit).repeat(50_000));
    }
    expect(normalize(`a${"\u0301".repeat(200_000)}`)).toHaveLength(200_001);
  });
});

describe("with a map of its own", () => {
  const normalize = createPrecompiledNormalizer(
    singleByteCharsmap(
      new Map([
        [0x61, "A"],
        [0x0d, "<cr>"],
        [0x62, ""],
      ]),
    ),
  );

  test("replaces a short cluster as a whole by its first code point's hit", () => {
    expect(normalize("a\u0301")).toBe("A");
    expect(normalize("xa\u0301y")).toBe("xAy");
    expect(normalize("\r\nb\r")).toBe("<cr><cr>");
  });

  test("knows for every code unit whether it joins the one before", () => {
    // A mark after "a" vanishes with its cluster, so a wrong border shows.
    const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = `aa${String.fromCharCode(unit)}aa`;
      const byCluster = [...segmenter.segment(text)].map(({ segment }) => normalize(segment)).join("");
      if (normalize(text) !== byCluster) expect.fail(`U+${unit.toString(16)}`);
    }
    expect(normalize("aa\u3099aa")).toBe("AAAA");
  });

  test("goes through a long cluster code point by code point", () => {
    expect(normalize("a\u0301\u0302\u0303")).toBe("A\u0301\u0302\u0303");
  });

  test("keeps what has no hit", () => {
    expect(normalize("c\u0000d\ud83d")).toBe("c\u0000d\ud83d");
    expect(normalize("")).toBe("");
  });
});

test("refuses a damaged map", () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from([8, 0, 0, 0, 1]), Buffer.from([3, 0, 0, 0, 1, 2, 3])]) {
    expect(() => createPrecompiledNormalizer(bytes.toString("base64"))).toThrow("precompiled_charsmap");
  }
});
