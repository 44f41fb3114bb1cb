/**
 * The largest facets, counts, orders and ranks by metadata over tens of thousands of records, by several clients at once, and highlights
 * with hostile regular expressions: all of it is answered rightly, and others are answered meanwhile.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIMITS } from "@sheaf/protocol";
import { SLOW_PATTERN } from "./testing/attack-requests.ts";
import { Stage } from "./testing/stage.ts";

const RECORDS = 40_000;
const RECORDS_PER_CALL = 10_000;
const CLIENTS = 2;
const WITHIN_MIB = 2_000;
const DOCUMENTS = 1_000;
/** Tells slow from hung on a machine that does other things. */
const MOST_MS = 240_000;
const KEYS = Array.from({ length: LIMITS.facetKeys }, (_, key) => `k${key}`);
/** By kind, in the order of values; the last kind is no value. */
const MIXED = [true, 7, 7.5, "text", ["a", "b"]];
const ORDER: readonly number[] = Array.from({ length: RECORDS }, (_, i) => i).sort(
  (a, b) => kindOf(a) - kindOf(b) || numberOf(b) - numberOf(a) || a - b,
);

let stage: Stage;
let path: string;
let documents: string;

beforeAll(async () => {
  stage = await Stage.open();
  path = await stage.attacker.createCollection("numbers");
  for (let first = 0; first < RECORDS; first += RECORDS_PER_CALL)
    await stage.attacker.expect(201, `${path}/add`, bodyOf(first));
  documents = await stage.attacker.createCollection("documents");
  const numbers = Array.from({ length: DOCUMENTS }, (_, i) => i);
  await stage.attacker.expect(201, `${documents}/add`, {
    ids: numbers.map((i) => `r${i}`),
    embeddings: numbers.map((i) => [i]),
    documents: numbers.map((i) => `${i} ${wordsOf(LIMITS.highlights)} ${"a".repeat(2_000)}`),
  });
}, MOST_MS);
afterAll(() => stage.close());

function wordsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => `word${i}.`).join(" ");
}

function numberOf(i: number): number {
  return (i * 7) % 1_000;
}

function kindOf(i: number): number {
  return i % (MIXED.length + 1);
}

/** By number of a record, what it has under all keys, as JSON without the braces. */
const MEMBERS = Array.from({ length: 1_000 }, (_, number) =>
  KEYS.map((key, n) => `"${key}":${(number + n) % 1_000}`).join(","),
);

function bodyOf(first: number): string {
  const numbers = Array.from({ length: RECORDS_PER_CALL }, (_, i) => first + i);
  const metadatas = numbers.map((i) => {
    const mixed = MIXED[kindOf(i)];
    const last = mixed === undefined ? "" : `,"mixed":${JSON.stringify(mixed)}`;
    return `{${MEMBERS[numberOf(i)]},"created":${i}${last}}`;
  });
  const embeddings = numbers.map((i) => `[${i}]`).join(",");
  return `{"ids":${JSON.stringify(ids(numbers))},"embeddings":[${embeddings}],"metadatas":[${metadatas.join(",")}]}`;
}

/** The answers that several clients get at once, which are all the same. */
async function together<T>(request: string, body: object): Promise<T> {
  const { value } = await stage.unharmed(WITHIN_MIB, () =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () =>
        (await stage.attacker.send(`${path}/${request}`, body)).text(),
      ),
    ),
  );
  for (const answer of value) expect(answer).toBe(value[0]);
  return JSON.parse(value[0]!) as T;
}

function ids(numbers: readonly number[]): readonly string[] {
  return numbers.map((i) => `r${i}`);
}

function endedThreads(): Promise<number> {
  return stage.metric("sheaf_regex_ended_threads");
}

interface Found {
  readonly ids: readonly (readonly string[])[];
}

describe(`metadata of ${RECORDS} records`, () => {
  it(
    "is counted, as many keys and values as a call may ask for",
    async () => {
      const body = { keys: KEYS, limit: LIMITS.facetValues };
      const facets = await together<
        Record<string, { values: { count: number }[]; missing: number; other: number }>
      >("facets", body);
      expect(Object.keys(facets)).toEqual(KEYS);
      for (const { values, missing, other } of Object.values(facets)) {
        expect([values.length, missing, other]).toEqual([1_000, 0, 0]);
        expect(values.every(({ count }) => count === RECORDS / 1_000)).toBe(true);
      }
    },
    MOST_MS,
  );

  it(
    "is counted under a filter of as many clauses as there may be",
    async () => {
      const $or = Array.from({ length: LIMITS.whereNodes - 1 }, (_, i) => ({
        [KEYS[i % 8]!]: { $eq: 500 + i },
      }));
      // Every number is that of as many records.
      const numbers = Array.from({ length: 1_000 }, (_, number) => number).filter((number) =>
        $or.some((_, n) => (number + (n % 8)) % 1_000 === 500 + n),
      );
      expect(await together("count", { where: { $or } })).toBe((numbers.length * RECORDS) / 1_000);
    },
    MOST_MS,
  );

  it(
    "orders records of mixed types, up to the last page",
    async () => {
      const order_by = [{ mixed: "asc" }, { k0: "desc" }];
      const offset = RECORDS - 1_000;
      const got = await together<{ ids: string[] }>("get", { order_by, offset, limit: 1_000, include: [] });
      expect(got.ids).toEqual(ids(ORDER.slice(offset)));
    },
    MOST_MS,
  );

  it(
    "ranks records alone",
    async () => {
      const search = (rank: object): object => ({ rank, limit: { limit: 100 } });
      const searches = [
        search({ $key: { key: "k0" } }),
        search({ $age: { key: "created", half_life: 1, now: RECORDS } }),
      ];
      const all = Array.from({ length: RECORDS }, (_, i) => i);
      const byNumber = all.sort((a, b) => numberOf(a) - numberOf(b) || a - b).slice(0, 100);
      const byAge = Array.from({ length: 100 }, (_, i) => RECORDS - 1 - i);
      expect((await together<Found>("search", { searches })).ids).toEqual([ids(byNumber), ids(byAge)]);
    },
    MOST_MS,
  );
});

describe("highlights of a thousand documents", () => {
  const marked = (clauses: readonly object[], signal?: AbortSignal): Promise<{ highlights: unknown[][] }> =>
    stage.attacker.expect(
      200,
      `${documents}/get`,
      // All documents pass without the expressions, which have to be found in each of them.
      {
        where_document: { $or: [{ $contains: "word" }, ...clauses] },
        highlight: { snippet: 1_000 },
        include: [],
      },
      signal === undefined ? {} : { signal },
    );

  it(
    "take no thread longer than their request, and are there where the expressions are no slower than others",
    async () => {
      const words = Array.from({ length: LIMITS.regexPatterns }, (_, i) => ({ $regex: `(?i)WORD${i}\\.` }));
      const slow = words.map((_, i) => ({ $regex: `${SLOW_PATTERN}${i}` }));
      const { value } = await stage.unharmed(WITHIN_MIB, async () => {
        const before = await endedThreads();
        // One who leaves before its expressions are found ends no thread.
        const leave = async (): Promise<number> => {
          await expect(marked(slow, AbortSignal.timeout(2_000))).rejects.toThrow(/abort|timeout/iu);
          return endedThreads();
        };
        await expect.poll(leave, { timeout: MOST_MS }).toBeGreaterThan(before);
        return marked(words);
      });
      expect(value.highlights).toHaveLength(DOCUMENTS);
      expect(value.highlights.every(({ length }) => length === LIMITS.highlights)).toBe(true);
    },
    MOST_MS,
  );
});
