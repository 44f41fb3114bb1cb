/** That a check has problems exactly where the search is refused, and the search's own words among them. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, startTestApp } from "../testing/test-app.ts";

const RUNS = 400;
const SEED = Math.floor(Math.random() * 2 ** 31);

let test: TestApp;
let path: string;
beforeAll(async () => {
  test = await startTestApp();
  const index = { enabled: true, config: {} };
  const schema = {
    keys: {
      given: { sparse_vector: { sparse_vector_index: index } },
      hidden: { string: { string_inverted_index: { ...index, enabled: false } } },
    },
  };
  path = await test.makeCollection({ name: "checked", schema });
  const json = { ids: ["a"], embeddings: [[1, 0]], documents: ["a cat"], metadatas: [{ n: 1, s: "x" }] };
  const { status, text } = await test.ask(`POST ${path}/add`, { json });
  if (status !== 201) throw new Error(text);
});
afterAll(() => test.close());

const knn = (more: object): object => ({ $knn: { query: [1, 0], ...more } });
/** Of each member values that a search takes and values that it does not. */
const leaf = fc.constantFrom<unknown>(
  knn({}),
  knn({ limit: 3, default: 0, return_rank: true }),
  knn({ query: { indices: [1], values: [1] }, key: "given" }),
  knn({ query: [1] }),
  knn({ query: "a text" }),
  knn({ query: "a text", key: "given" }),
  knn({ key: "n" }),
  knn({ limit: 0 }),
  { $key: { key: "n" } },
  { $age: { key: "n", half_life: 0 } },
  { $val: "x" },
  { $val: 2 },
);
const rank = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 3 }).map(($sum) => ({ $sum })),
  leaf.map((left) => ({ $div: { left, right: { $val: 2 } } })),
);
const clause = fc.constantFrom<unknown>(
  { n: 1 },
  { n: { $gt: "b" } },
  { s: { $in: [] } },
  { hidden: "x" },
  { "#document": { $contains: "cat" } },
  { "#document": { $regex: "(" } },
  { "#document": { $regex: "c.t" } },
  { "#id": { $in: ["a"] } },
  { $or: [] },
  5,
);
const payload = fc.record(
  {
    where: fc.oneof(
      clause,
      fc.array(clause, { maxLength: 3 }).map(($and) => ({ $and })),
    ),
    rank,
    limit: fc.constantFrom<unknown>(5, { limit: 2, offset: 1 }, { limit: -1 }, {}),
    select: fc.constantFrom<unknown>({ keys: ["#score", "n"] }, { keys: ["#scores"] }, {}),
    group_by: fc.constantFrom<unknown>(
      { keys: ["n"], aggregate: { $min_k: { keys: ["#score"], k: 1 } } },
      { keys: ["n"] },
    ),
    order_by: fc.constantFrom<unknown>([{ n: "asc" }], [{ n: "up" }]),
    mmr: fc.constantFrom<unknown>({ limit: 2 }, { lambda: 2, limit: 2 }),
    highlight: fc.constantFrom<unknown>(true, { snippet: -1 }),
    explain: fc.constantFrom<unknown>(true, { ids: ["a"] }, { ids: 5 }),
    wehre: fc.constant({}),
  },
  { requiredKeys: [] },
);
const bodies = fc.record(
  {
    searches: fc.oneof({ arbitrary: fc.array(payload, { maxLength: 3 }), weight: 20 }, fc.constant("none")),
    read_level: fc.constantFrom("index_only", "never"),
  },
  { requiredKeys: ["searches"] },
);

it(`has problems exactly where the search is refused (seed ${SEED})`, async () => {
  let refused = 0;
  let taken = 0;
  const same = fc.asyncProperty(bodies, async (json) => {
    const searched = await test.ask(`POST ${path}/search`, { json });
    const checked = await test.ask(`POST ${path}/search/check`, { json });
    expect(checked.status).toBe(200);
    const { problems } = checked.body as { problems: readonly { message: string }[] };
    if (searched.status === 200) {
      taken++;
      expect(problems).toEqual([]);
      return;
    }
    refused++;
    const { message } = searched.body as { message: string };
    expect(problems.map((problem) => problem.message)).toContain(message);
  });
  await fc.assert(same, { numRuns: RUNS, seed: SEED });
  expect(Math.min(refused, taken)).toBeGreaterThan(RUNS / 20);
});
