import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chromaClient } from "../compat/testing/chroma.ts";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { runExample } from "./testing/run-example.ts";

let served: ServedSheaf;

beforeAll(async () => {
  served = await ServedSheaf.start();
});

afterAll(async () => {
  await served.dispose();
});

describe.each(["quick-start", "rag-hybrid-search", "multi-tenant", "why-this-record"])("%s", (name) => {
  it.each([
    ["without an address", "", /^set SHEAF_URL to the address of a server/u],
    [
      "with a server that is away",
      "http://127.0.0.1:9",
      /^(?:Failed to connect|no answer from|fetch failed: )/u,
    ],
  ])("ends with a line and 1 %s", async (_, url, line) => {
    const run = runExample(served, name, { env: { SHEAF_URL: url } });
    await expect(run).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(line) });
    await expect(run).rejects.toMatchObject({ stderr: expect.not.stringMatching(/\n./u) });
  });
});

describe("quick-start", () => {
  it("finds by meaning, and under a filter, however often it is run", async () => {
    const lines = await runExample(served, "quick-start");
    expect(await runExample(served, "quick-start")).toEqual(lines);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("Ships wait in the harbour");
    expect(lines[2]).toBe("not about the sea: bread");
  });

  it("makes a collection that the server embeds for", async () => {
    await runExample(served, "quick-start");
    const notes = await chromaClient(served).getCollection({ name: "quick-start" });
    expect(await notes.count()).toBe(3);
    expect(notes.configuration).toMatchObject({ embedding_function: { type: "known", name: "sheaf" } });
  });
});

describe("why-this-record", () => {
  it("explains, checks, counts and orders, however often it is run", async () => {
    const lines = await runExample(served, "why-this-record");
    expect(await runExample(served, "why-this-record")).toEqual(lines);
    expect(
      lines.filter((line) => / has -0\.03\d\d: place \d in #embedding, place \d in bm25$/u.test(line)),
    ).toHaveLength(2);
    expect(lines).toEqual(
      expect.arrayContaining([
        "found among 7 of 9 records",
        "not galley: filtered where.room",
        "not anchor: absent",
        "check: invalid_argument at searches[0].rank.$knn.key; unknown_key at searches[1].where.yaer",
        "newest: engine pilot bread",
        "oldest year: tides knots",
        "by year, then room: paint diesel galley",
        "of the sea: 3",
        "years: 2019 (3), 1998 (2), 2003 (2), 2011 (2)",
      ]),
    );
    expect(lines.at(-1)).toMatch(/^".*ship.*" matches .*ship/u);
  });
});

describe("rag-hybrid-search", () => {
  it("puts the chunk with the code first, and the question last", async () => {
    const lines = await runExample(served, "rag-hybrid-search");
    const sources = lines.filter((line) => /^\[\d\]/u.test(line));
    expect(sources).toHaveLength(3);
    expect(sources[0]).toMatch(/^\[1\] \(engine\.md#1\) # Faults Fault code E-42/u);
    expect(lines.at(-1)).toBe("Question: What do I do about fault code E-42?");
  });

  it("answers another question in a second run", async () => {
    const args = ["When do ships sail away?"];
    const lines = await runExample(served, "rag-hybrid-search", { args });
    expect(lines.find((line) => line.startsWith("[1]"))).toContain("high tide");
  });
});

describe("multi-tenant", () => {
  it("keeps one customer from another, however often it is run", async () => {
    const expected = ["acme sees: an order of acme", "acme's key cannot read globex"];
    for (let run = 0; run < 2; run++) expect(await runExample(served, "multi-tenant")).toEqual(expected);
  });
});

describe("multi-tenant, on a server with --auth off", () => {
  it("says that it needs keys", async () => {
    const open = await ServedSheaf.start({ args: ["--auth", "off"], env: { SHEAF_ROOT_KEY: "" } });
    try {
      const stderr = "this example makes keys; the server runs with --auth off\n";
      await expect(runExample(open, "multi-tenant")).rejects.toMatchObject({ code: 1, stderr });
    } finally {
      await open.dispose();
    }
  });
});
