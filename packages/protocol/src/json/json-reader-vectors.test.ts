import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFloat, readJson, readJsonWithVectors } from "./json-reader.ts";
import { LIMITS } from "../limits.ts";
import { refusal } from "../testing/refusal.ts";

const read = (text: string): unknown => readJsonWithVectors(Buffer.from(text));

/** As numbers, whatever their kind, and as f32: a vector and a list of the same numbers become equal. */
function rounded(value: unknown): unknown {
  if (value instanceof JsonFloat) return Math.fround(value.value);
  if (typeof value === "bigint" || typeof value === "number") return Math.fround(Number(value));
  if (Array.isArray(value) || value instanceof Float32Array)
    return Array.from<unknown, unknown>(value, rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member)]));
}

const space = fc.constantFrom("", "", " ", "\n\t", "\r ");
const number = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom("0.0", "-0.0", "1", "3.0", "1e-7", "12345678901234567890", "9e37"),
);
/** Vectors, and what may stand in their place. */
const item = fc.oneof(
  { weight: 6, arbitrary: fc.array(number, { minLength: 8, maxLength: 20 }) },
  fc.array(fc.oneof(number, fc.constantFrom("null", '"\u007f[0"', "[1]")), { maxLength: 12 }),
);
const list = fc.tuple(item, space).map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`);
const text = fc.constantFrom('"\u007f[0"', '"\\u007f[1"', '"\u007f3.0"', '"plain"', '"a\\"[1,2"');
const value = fc.oneof(list, text, number, fc.constantFrom("null", "true", "{}", "[]"));
const member = fc.oneof(
  fc.tuple(
    fc.constantFrom('"embeddings"', '"query_embeddings"'),
    fc.array(fc.oneof(list, value)).map((items) => `[${items.join()}]`),
  ),
  fc.tuple(
    fc.constantFrom('"rank"', '"metadatas"'),
    fc.tuple(list, text).map(([a, b]) => `{"$knn":{"query":${a},"k":${b}}}`),
  ),
  fc.tuple(fc.constantFrom('"embeddings"', '"query"', '"$knn"', '"other"', '"\u007f"'), value),
);
const body = fc
  .uniqueArray(member, { selector: ([name]) => name, maxLength: 5 })
  .map((members) => `{${members.map((parts) => parts.join(":")).join(",")}}`);

const VECTOR = `[${Array.from({ length: 9 }, (_, i) => `${i}.5`).join()}]`;

describe("readJsonWithVectors", () => {
  it("agrees with readJson on every body, vectors compared as their numbers in f32", () => {
    fc.assert(
      fc.property(body, (json) => {
        expect(rounded(read(json))).toEqual(rounded(readJson(Buffer.from(json))));
      }),
      { numRuns: 4_000 },
    );
  });

  it("gives vectors where they stand, and only there", () => {
    const { embeddings, metadatas, rank } = read(
      `{"embeddings":[${VECTOR},null,"AAAA",[1.5]],"metadatas":[{"embeddings":[${VECTOR}]}],"rank":{"$knn":{"query":${VECTOR},"query2":${VECTOR}}}}`,
    ) as Record<"embeddings" | "metadatas" | "rank", never>;
    const vector = Float32Array.from(JSON.parse(VECTOR) as number[]);
    const plain = JSON.parse(VECTOR) as number[];
    expect(embeddings).toEqual([vector, null, "AAAA", [1.5]]);
    expect(metadatas).toEqual([{ embeddings: [plain] }]);
    expect(rank).toEqual({ $knn: { query: vector, query2: plain } });
  });

  it("keeps the kinds of numbers beside vectors", () => {
    expect(read(`{"metadatas":[{"a":1.0,"b":[2.0,3]}],"embeddings":[${VECTOR}]}`)).toMatchObject({
      metadatas: [{ a: new JsonFloat(1), b: [new JsonFloat(2), 3] }],
    });
  });

  it("throws what readJson throws", () => {
    const mutation = fc.tuple(fc.nat(), fc.constantFrom(...'[]{},:"0.-e\u007f '.split("")));
    fc.assert(
      fc.property(body, fc.array(mutation, { minLength: 1, maxLength: 3 }), (json, mutations) => {
        const bytes = Buffer.from(json);
        for (const [at, character] of mutations) bytes[at % bytes.length] = character.charCodeAt(0);
        const outcome = (reader: typeof readJson): unknown => {
          try {
            return rounded(reader(bytes));
          } catch (error) {
            return String(error);
          }
        };
        expect(outcome(readJsonWithVectors)).toEqual(outcome(readJson));
      }),
      { numRuns: 6_000 },
    );
  });

  it("counts what is in vectors", () => {
    const long = `[${"0,".repeat(LIMITS.dimensions)}0]`;
    expect((read(`{"embeddings":[${long}]}`) as { embeddings: unknown[] }).embeddings[0]).toHaveLength(
      LIMITS.dimensions + 1,
    );
    expect(refusal(() => read(`{"embeddings":[${VECTOR}],"embeddings":[${VECTOR}]}`))).toBe(
      "422 embeddings: is given twice",
    );
    const full = `[${"0,".repeat(LIMITS.dimensions - 1)}0]`;
    const enough = Math.ceil(LIMITS.jsonNodes / LIMITS.dimensions);
    expect(refusal(() => read(`{"embeddings":[${`${full},`.repeat(enough)}[]]}`))).toMatch(/values$/);
  });
});
