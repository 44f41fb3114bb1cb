/**
 * Checks of the largest bodies there may be, right and wrong ones, by several callers at once: each is answered with no more
 * findings than a check may list, and others are answered meanwhile.
 */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rankSearches } from "./testing/largest-requests.ts";
import { Stage } from "./testing/stage.ts";

const WITHIN_MIB = 2_000;
const CALLERS = 4;
const MOST_FINDINGS = 1_000;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;

interface Checked {
  readonly problems: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  readonly warnings: readonly object[];
  readonly plans: readonly (object | null)[];
}

let stage: Stage;
let path: string;
beforeAll(async () => {
  stage = await Stage.open();
  path = await stage.attacker.createCollection("records");
  await stage.attacker.expect(201, `${path}/add`, {
    ids: ["a", "b"],
    embeddings: [
      [1, 0],
      [0, 1],
    ],
    documents: ["a", "b"],
    metadatas: [{ n: 1 }, { n: 2 }],
  });
});
afterAll(() => stage.close());

async function check(body: object | string): Promise<Checked> {
  const { value } = await stage.unharmed(WITHIN_MIB, () =>
    Promise.all(
      Array.from({ length: CALLERS }, () =>
        stage.attacker.expect<Checked>(200, `${path}/search/check`, body),
      ),
    ),
  );
  for (const one of value) expect(one).toEqual(value[0]);
  return value[0]!;
}

function many<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

describe("checks", () => {
  it(
    "of a hundred of the largest rank expressions find nothing wrong",
    async () => {
      const { problems, plans } = await check(rankSearches(LIMITS.searchesPerCall));
      expect(problems).toEqual([]);
      expect(plans).toHaveLength(LIMITS.searchesPerCall);
      expect(plans[0]).toMatchObject({ page: { offset: 0, limit: 10 } });
    },
    MOST_MS,
  );

  it(
    "of payloads with tens of thousands of unknown members name a thousand of them",
    async () => {
      const unknown = Object.fromEntries(many(60_000, (i) => [`member-${i}`, null]));
      const { problems, plans } = await check({ searches: [unknown, { ...unknown }, {}] });
      expect(problems).toHaveLength(MOST_FINDINGS);
      expect(plans).toEqual([null, null, { leaves: [], page: { offset: 0, limit: null } }]);
      const { warnings } = await check({ searches: [], ...unknown });
      expect(warnings).toHaveLength(MOST_FINDINGS);
    },
    MOST_MS,
  );

  it(
    "of hundreds of regular expressions name those that are refused",
    async () => {
      const large = { "#document": { $regex: `(?:a{1,1000}){1,1000}` } };
      const sound = { "#document": { $regex: "[a-m]+[0-9]{3}" } };
      const searches = many(LIMITS.searchesPerCall, (i) => ({ where: i % 10 === 0 ? large : sound }));
      const { problems, plans } = await check({ searches });
      expect(new Set(problems.map(({ path: at }) => /^searches\[(\d+)\]/u.exec(at)?.[1]))).toEqual(
        new Set(many(LIMITS.searchesPerCall / 10, (i) => String(10 * i))),
      );
      expect(plans.filter((plan) => plan === null)).toHaveLength(LIMITS.searchesPerCall / 10);
    },
    MOST_MS,
  );

  it(
    "of more regular expressions than a call may have compile none of them",
    async () => {
      const searches = many(LIMITS.searchesPerCall, (i) => ({
        where: { $and: many(10, (j) => ({ "#document": { $regex: `a${j}_${i}\\w{300}` } })) },
      }));
      const { problems } = await check({ searches });
      expect(problems).toEqual([
        expect.objectContaining({ message: expect.stringContaining("regular expressions") }),
      ]);
    },
    MOST_MS,
  );

  it(
    "of filters with a hundred thousand values in each say what never matches",
    async () => {
      const $in = many(LIMITS.whereValues, (i) => `text ${i}`);
      const searches = many(8, () => ({
        where: { $and: [{ n: { $in } }, { n: { $gt: 5 } }, { n: { $lt: 5 } }] },
      }));
      const { problems, warnings } = await check({ searches });
      expect(problems).toEqual([]);
      expect(warnings.length).toBeGreaterThanOrEqual(8);
    },
    MOST_MS,
  );
});
