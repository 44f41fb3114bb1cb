import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ChunkedBy } from "@sheaf/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelTokenizer } from "../tokenize/model-tokenizer.ts";
import { runTextJob } from "../tokenize/run-text-job.ts";
import { splitInWindows } from "./split-in-windows.ts";

const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const files = {
  tokenizerJson: join(folder, "tokenizer.json"),
  tokenizerConfigJson: join(folder, "tokenizer_config.json"),
};
const tokenizer = ModelTokenizer.read(files);

interface Asked {
  readonly by: ChunkedBy;
  readonly tokens: number;
  readonly overlap: number;
}

async function split(
  text: string,
  asked: Asked,
  most = 10_000,
): Promise<readonly (readonly [number, number])[]> {
  const splitting = { tokenizer: files, lead: "", most, ...asked };
  const ranges = await splitInWindows(text, splitting, async (job) => runTextJob(job));
  return Array.from({ length: ranges.length / 2 }, (_, i) => [ranges[2 * i]!, ranges[2 * i + 1]!] as const);
}

const parts = async (text: string, asked: Asked): Promise<readonly string[]> =>
  (await split(text, asked)).map(([start, end]) => text.slice(start, end));

function expectCovered(
  text: string,
  ranges: readonly (readonly [number, number])[],
  { tokens, overlap }: Asked,
): void {
  expect(ranges[0]?.[0]).toBe(0);
  expect(ranges.at(-1)?.[1]).toBe(text.length);
  for (const [i, [start, end]] of ranges.entries()) {
    const chunk = text.slice(start, end);
    expect(tokenizer.encode(chunk, 1_000_000).fullCount).toBeLessThanOrEqual(tokens);
    if (!text.includes(LONE)) expect(chunk).not.toMatch(/\p{Surrogate}/u);
    const before = ranges[i - 1];
    if (before === undefined) continue;
    // No gap, and each brings something new.
    expect(start).toBeGreaterThan(before[0]);
    expect(start).toBeLessThanOrEqual(before[1]);
    expect(end).toBeGreaterThan(before[1]);
    if (overlap === 0) expect(start).toBe(before[1]);
  }
}

const LONE = "\ud83d";
const words = fc.constantFrom(
  "tide ",
  "harbour ",
  "unbelievably ",
  "\n\n",
  "# Ships\n",
  "End. ",
  "```\n",
  "港で",
  "🙂",
  "é ",
  "\t",
  "x".repeat(90),
  " ".repeat(70),
  "12.5% ",
  "Title\n===\n",
  "\ud83d",
);
const texts = fc.array(words, { maxLength: 600 }).map((list) => list.join(""));

describe("chunks", () => {
  it("cover the text without a gap, within their tokens, however it is cut", async () => {
    const asked = fc.record({
      by: fc.constantFrom<ChunkedBy[]>("tokens", "sentences", "headings"),
      tokens: fc.integer({ min: 32, max: 256 }),
      overlap: fc.constantFrom(0, 5, 16),
    });
    await fc.assert(
      fc.asyncProperty(texts, asked, async (text, rules) =>
        expectCovered(text, await split(text, rules), rules),
      ),
      { numRuns: 150 },
    );
  });

  it("of long texts are those of the same rules, window after window", async () => {
    const sentence = "The ferry leaves the harbour at noon and waits for the tide. ";
    const text = sentence.repeat(1_000);
    for (const by of ["tokens", "sentences", "headings"] as const) {
      const rules = { by, tokens: 64, overlap: 15 };
      const ranges = await split(text, rules);
      expectCovered(text, ranges, rules);
      if (by === "tokens") continue;
      for (const [start, end] of ranges)
        expect([start % sentence.length, end % sentence.length]).toEqual([0, 0]);
      expect(ranges[1]![0]).toBe(ranges[0]![1] - sentence.length);
    }
  });

  it("by headings are sections; what is too long is cut at sentences", async () => {
    const long = "It rains. ".repeat(30);
    const text = `intro\n\n# A\n\n## B\nbody\n\`\`\`\n# no heading\n\`\`\`\nTitle\n=====\n${long}\n## C\nlast`;
    const chunks = await parts(text, { by: "headings", tokens: 64, overlap: 0 });
    expect(chunks[0]).toBe("intro\n\n");
    expect(chunks[1]).toBe("# A\n\n## B\nbody\n```\n# no heading\n```\n");
    expect(chunks[2]?.startsWith("Title\n=====\nIt rains. ")).toBe(true);
    expect(chunks.at(-1)).toBe("## C\nlast");
    for (const chunk of chunks.slice(2, -1)) expect(chunk.trimEnd().endsWith(".")).toBe(true);
  });

  it("begin with the end of the one before where they overlap", async () => {
    const text = Array.from({ length: 200 }, (_, i) => `word${i % 10}`).join(" ");
    const ranges = await split(text, { by: "tokens", tokens: 34, overlap: 10 });
    const shared = text.slice(ranges[1]![0], ranges[0]![1]);
    expect(tokenizer.idsOf(shared).length).toBeLessThanOrEqual(10);
    expect(tokenizer.idsOf(shared).length).toBeGreaterThan(5);
  });

  it("of nothing and of blanks are one", async () => {
    expect(await split("", { by: "tokens", tokens: 64, overlap: 0 })).toEqual([[0, 0]]);
    expect(await split(" \n ", { by: "headings", tokens: 64, overlap: 0 })).toEqual([[0, 3]]);
  });

  it("are no more than are wanted", async () => {
    expect(await split("a ".repeat(20_000), { by: "tokens", tokens: 32, overlap: 0 }, 7)).toHaveLength(7);
  });

  // The deadlines tell seconds from minutes.
  it.each([
    ["one word", "x".repeat(1 << 20)],
    ["blanks", " ".repeat(1 << 20)],
    ["headings", "# a\nb and c\n".repeat(1 << 16)],
    ["lines", "\n".repeat(1 << 20)],
    ["dots", ".".repeat(1 << 20)],
    ["fences", "```\n".repeat(1 << 18)],
    ["ideographs", "港".repeat(1 << 19)],
  ])("of a mebibyte of %s come in time", { timeout: 120_000 }, async (_, text) => {
    for (const by of ["tokens", "headings"] as const) {
      const rules = { by, tokens: 256, overlap: 64 };
      const ranges = await split(text, rules, 100_000);
      expect(ranges.at(-1)?.[1]).toBe(text.length);
      expect(ranges.length).toBeGreaterThan(100);
    }
  });
});
