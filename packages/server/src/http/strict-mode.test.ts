import { readFile } from "node:fs/promises";
import { EXTENSIONS, type ExtensionName } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COLLECTIONS, type TestApp, startTestApp } from "../testing/test-app.ts";

const PAGE = new URL("../../../../docs/reference/extensions.md", import.meta.url);
const KNN = { $knn: { query: [1] } };

/** `?after` is tried where lists are, in routes/catalog.test.ts. */
type OfBody = Exclude<ExtensionName, "?after">;
/** A request for each, behind the path of a collection, and where it asks. */
const REQUESTS: Readonly<Record<OfBody, readonly [route: string, json: object, path: string]>> = {
  order_by: ["search", { searches: [{ order_by: [{ n: "asc" }] }] }, "searches[0].order_by: "],
  highlight: ["search", { searches: [{}, { highlight: true }] }, "searches[1].highlight: "],
  explain: ["search", { searches: [{ rank: KNN, explain: true }] }, "searches[0].explain: "],
  mmr: ["search", { searches: [{ rank: KNN, mmr: { limit: 1 } }] }, "searches[0].mmr: "],
  chunking: ["update", { ids: ["a"], metadatas: [{ n: 1 }], chunking: { by: "none" } }, "chunking: "],
  encoding_format: ["get", { encoding_format: "base64" }, "encoding_format: "],
  $key: [
    "search",
    { searches: [{ rank: { $sum: [KNN, { $key: { key: "n" } }] } }] },
    "searches[0].rank.$sum[1].$key: ",
  ],
  $age: [
    "search",
    {
      searches: [
        { rank: { $abs: { $sub: { left: { $val: 1 }, right: { $age: { key: "n", half_life: 1 } } } } } },
      ],
    },
    "searches[0].rank.$abs.$sub.right.$age: ",
  ],
  "POST /count": ["count", { where: { n: 1 } }, ""],
  "POST /facets": ["facets", { keys: ["n"] }, ""],
  "POST /search/check": ["search/check", { searches: [{}] }, ""],
};
const OF_GET = [
  ["get", { order_by: [{ n: "asc" }] }, "order_by"],
  ["get", { highlight: true }, "highlight"],
  ["conditional/get", { encoding_format: "base64" }, "encoding_format"],
  ["conditional/get", { order_by: [{ n: "asc" }] }, "order_by"],
] as const;

let test: TestApp;
let path: string;
beforeAll(async () => {
  test = await startTestApp();
  path = await test.makeCollection({ name: "records" });
  const json = {
    ids: ["a", "b"],
    embeddings: [[1], [2]],
    metadatas: [{ n: 1 }, null],
    documents: ["a", "b"],
  };
  const { status, text } = await test.ask(`POST ${path}/add`, { json });
  if (status !== 201) throw new Error(text);
});
afterAll(() => test.close());

async function refusal(route: string, json: object, headers = {}): Promise<string | null> {
  const { status, body } = await test.ask(`POST ${path}/${route}`, { json, headers });
  if (status === 200) return null;
  expect(status).toBe(400);
  return (body as { message: string }).message;
}

describe("extensions", () => {
  it.each(Object.keys(REQUESTS) as OfBody[])(
    "are refused by name where the header asks for it, and taken otherwise: %s",
    async (name) => {
      const [route, json, at] = REQUESTS[name];
      expect(await refusal(route, json)).toBeNull();
      expect(await refusal(route, json, { "x-sheaf-strict": "0" })).toBeNull();
      const message = `${at}${name} is an extension of Sheaf, which strict mode refuses (--strict, x-sheaf-strict)`;
      expect(await refusal(route, json, { "x-sheaf-strict": "1" })).toBe(message);
    },
  );

  it.each(OF_GET)("are refused in a %s of %j", async (route, json, name) => {
    expect(await refusal(route, json)).toBeNull();
    expect(await refusal(route, json, { "x-sheaf-strict": "1" })).toContain(
      `${name}: ${name} is an extension`,
    );
  });

  it("are refused in a commit and in a schema", async () => {
    const headers = { "x-sheaf-strict": "1" };
    const payload = { ids: ["a"], metadatas: [{ n: 1 }], chunking: { by: "none" } };
    const json = { operations: [{ operation: "update", payload }] };
    expect(await refusal("conditional/commit", json)).toBeNull();
    expect(await refusal("conditional/commit", json, headers)).toContain("operations[0].payload.chunking: ");
    const schema = { name: "cut", schema: { chunking: { by: "none" } } };
    const made = await test.ask(`POST ${COLLECTIONS}`, { json: schema, headers });
    expect([made.status, made.text]).toEqual([
      400,
      expect.stringContaining("schema.chunking: chunking is an"),
    ]);
    expect((await test.ask(`POST ${COLLECTIONS}`, { json: schema })).status).toBe(200);
  });

  it("are refused in large bodies, too", async () => {
    const json = {
      where: { n: { $in: Array.from({ length: 100_000 }, (_, i) => i) } },
      order_by: [{ n: "asc" }],
    };
    expect(await refusal("get", json)).toBeNull();
    expect(await refusal("get", json, { "x-sheaf-strict": "1" })).toContain("order_by: ");
  });

  it("are all on their page", async () => {
    const page = await readFile(PAGE, "utf8");
    for (const name of EXTENSIONS) expect(page).toContain(`\`${name}\``);
  });
});

describe("strict mode", () => {
  it("takes what Chroma has", async () => {
    const headers = { "x-sheaf-strict": "1" };
    const rank = { $sum: [KNN, { $val: 1 }] };
    expect(
      await refusal("search", { searches: [{ rank, where: { n: 1 }, limit: { limit: 1 } }] }, headers),
    ).toBeNull();
    expect(await refusal("get", { where: { n: 1 } }, headers)).toBeNull();
    expect(await refusal("query", { query_embeddings: [[1]] }, headers)).toBeNull();
    expect((await test.ask(`GET ${path}/count`, { headers })).body).toBe(2);
  });

  it("refuses a header that says neither", async () => {
    expect(await refusal("get", {}, { "x-sheaf-strict": "yes" })).toBe("x-sheaf-strict: must be 1 or 0");
  });

  it("is every request's on a strict server, which lists no extension", async () => {
    const strict = await startTestApp({ strict: true });
    try {
      const records = await strict.makeCollection({ name: "records" });
      const headers = { "x-sheaf-strict": "0" };
      const counted = await strict.ask(`POST ${records}/count`, { json: {}, headers });
      expect([counted.status, counted.text]).toEqual([400, expect.stringContaining("POST /count")]);
      expect((await strict.ask("GET /api/v2/pre-flight-checks")).body).toMatchObject({ extensions: [] });
    } finally {
      await strict.close();
    }
  });
});
