import { describe, expect, it } from "vitest";
import {
  getResultChunks,
  queryResultChunks,
  searchResultChunks,
  writeGetResult,
  writeQueryResult,
  writeSearchResult,
} from "./json-writer-results.ts";
import type { MetadataValue } from "./metadata.ts";
import type { ResultRecord } from "./records/ast.ts";
import { parseGetRequest } from "./records/get-request.ts";
import { parseQueryRequest } from "./records/query-request.ts";
import { parseSearchRequest } from "./search/search-request.ts";

const metadata = new Map<string, MetadataValue>([
  ["n", 1n],
  ["f", 2],
  ["chroma:document", "hidden"],
]);
const full: ResultRecord = {
  id: 'a"',
  embedding: Float32Array.of(0.5, 1),
  document: "text",
  uri: "file:///a",
  metadata,
  score: 0.051316738,
};
const bare: ResultRecord = { id: "b", embedding: null, document: null, uri: null, metadata: null, score: 2 };
const include = (keys: readonly string[]) => parseGetRequest({ include: keys }).include;
const queryInclude = (keys: readonly string[]) =>
  parseQueryRequest({ query_embeddings: [], include: keys }).include;
const everything = ["distances", "documents", "embeddings", "metadatas", "uris"];
const searchFor = (...selects: readonly (readonly string[])[]) =>
  parseSearchRequest({ searches: selects.map((keys) => ({ select: { keys } })) });

describe("get", () => {
  it("writes every column, and `null` where the record has nothing", () => {
    expect(writeGetResult([full, bare], include(everything))).toBe(
      '{"ids":["a\\"","b"],"embeddings":[[0.5,1.0],null],"documents":["text",null],"uris":["file:///a",null],' +
        '"metadatas":[{"n":1,"f":2.0},null],' +
        '"include":["distances","documents","embeddings","metadatas","uris"]}',
    );
  });

  it("writes `null` for the columns that are left out", () => {
    expect(writeGetResult([full], include([]))).toBe(
      '{"ids":["a\\""],"embeddings":null,"documents":null,"uris":null,"metadatas":null,"include":[]}',
    );
    expect(writeGetResult([], include(["documents"]))).toBe(
      '{"ids":[],"embeddings":null,"documents":[],"uris":null,"metadatas":null,"include":["documents"]}',
    );
  });

  it("gives null for metadata of which nothing may be seen", () => {
    const hidden = { id: "c", metadata: new Map([["chroma:uri", "x"]]) };
    expect(JSON.parse(writeGetResult([hidden], include(["metadatas"])))).toMatchObject({ metadatas: [null] });
  });
});

describe("query", () => {
  it("writes one list per query", () => {
    expect(writeQueryResult([[full, bare], []], queryInclude(everything))).toBe(
      '{"ids":[["a\\"","b"],[]],"embeddings":[[[0.5,1.0],null],[]],"documents":[["text",null],[]],' +
        '"uris":[["file:///a",null],[]],"metadatas":[[{"n":1,"f":2.0},null],[]],' +
        '"distances":[[0.051316738,2.0],[]],"include":["distances","documents","embeddings","metadatas","uris"]}',
    );
  });

  it("writes one `null` for a column that is left out", () => {
    expect(writeQueryResult([[full], [bare]], queryInclude([]))).toBe(
      '{"ids":[["a\\""],["b"]],"embeddings":null,"documents":null,"uris":null,"metadatas":null,' +
        '"distances":null,"include":[]}',
    );
    expect(writeQueryResult([], queryInclude(["distances"]))).toContain('{"ids":[],');
  });
});

describe("search", () => {
  it("writes one entry per search with the columns it selected", () => {
    const request = searchFor(["#score", "n", "#document"], [], ["#metadata", "#embedding", "#id"]);
    expect(JSON.parse(writeSearchResult([[full, bare], [full], [full, bare]], request))).toEqual({
      ids: [['a"', "b"], ['a"'], ['a"', "b"]],
      documents: [["text", null], null, null],
      embeddings: [null, null, [[0.5, 1], null]],
      metadatas: [[{ n: 1 }, null], null, [{ n: 1, f: 2, "chroma:document": "hidden" }, null]],
      scores: [[0.051316738, 2], null, null],
      select: [["#document", "#score", "n"], [], ["#id", "#embedding", "#metadata"]],
    });
  });

  it("keeps the order of the existing server's members", () => {
    expect(Object.keys(JSON.parse(writeSearchResult([[]], searchFor([]))) as object)).toEqual([
      "ids",
      "documents",
      "embeddings",
      "metadatas",
      "scores",
      "select",
    ]);
  });

  it("gives null per record when no selected field is there, and null for scores that are not finite", () => {
    const records = [
      { ...full, score: Number.POSITIVE_INFINITY },
      { ...bare, score: Number.NaN },
    ];
    expect(JSON.parse(writeSearchResult([records], searchFor(["missing", "#score"])))).toMatchObject({
      metadatas: [[null, null]],
      scores: [[null, null]],
    });
  });

  it("answers no searches", () => {
    expect(writeSearchResult([], searchFor())).toBe(
      '{"ids":[],"documents":[],"embeddings":[],"metadatas":[],"scores":[],"select":[]}',
    );
  });
});

describe("pieces", () => {
  const records = Array.from({ length: 3000 }, (_, index) => ({
    ...full,
    id: `${index}`,
    embedding: Float32Array.from({ length: 96 }, (_value, dimension) => Math.sin(index * 96 + dimension)),
  }));

  it("make up the same text and stay small", () => {
    const wanted = include(everything);
    const chunks = [...getResultChunks(records, wanted)];
    expect(chunks.join("")).toBe(writeGetResult(records, wanted));
    expect(chunks.length).toBeGreaterThan(5);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(600_000);
    const asked = queryInclude(everything);
    expect([...queryResultChunks([records, records], asked)].join("")).toBe(
      writeQueryResult([records, records], asked),
    );
    const request = searchFor(["#embedding"]);
    expect([...searchResultChunks([records], request)].join("")).toBe(writeSearchResult([records], request));
  });
});
