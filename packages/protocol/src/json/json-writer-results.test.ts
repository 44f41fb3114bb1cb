import { describe, expect, it } from "vitest";
import { type ResultShape, ResultWriter, getShape, queryShape, searchShape } from "./json-writer-results.ts";
import type { MetadataValue } from "../metadata.ts";
import type { ResultRecord } from "../records/ast.ts";
import { parseGetRequest } from "../records/get-request.ts";
import { parseQueryRequest } from "../records/query-request.ts";
import { parseSearchRequest } from "../search/search-request.ts";

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
    expect(written(getShape({ include: include(everything) }), [full, bare])).toBe(
      '{"ids":["a\\"","b"],"embeddings":[[0.5,1.0],null],"documents":["text",null],"uris":["file:///a",null],' +
        '"metadatas":[{"n":1,"f":2.0},null],' +
        '"include":["distances","documents","embeddings","metadatas","uris"]}',
    );
  });

  it("writes embeddings in base64 where that is asked for, a view of a larger buffer too", () => {
    const request = parseGetRequest({ include: ["embeddings"], encoding_format: "base64" });
    const viewed = { ...full, embedding: Float32Array.of(9, -0.1, 1e-40).subarray(1) };
    const { embeddings } = JSON.parse(written(getShape(request), [viewed, bare])) as {
      embeddings: readonly (string | null)[];
    };
    expect(embeddings[1]).toBeNull();
    const bytes = Buffer.from(embeddings[0]!, "base64");
    expect([0, 4].map((at) => bytes.readFloatLE(at))).toEqual([...viewed.embedding]);
    expect(bytes).toHaveLength(8);
  });

  it("writes `null` for the columns that are left out", () => {
    expect(written(getShape({ include: include([]) }), [full])).toBe(
      '{"ids":["a\\""],"embeddings":null,"documents":null,"uris":null,"metadatas":null,"include":[]}',
    );
    expect(written(getShape({ include: include(["documents"]) }), [])).toBe(
      '{"ids":[],"embeddings":null,"documents":[],"uris":null,"metadatas":null,"include":["documents"]}',
    );
  });

  it("gives null for metadata of which nothing may be seen", () => {
    const hidden = { id: "c", metadata: new Map([["chroma:uri", "x"]]) };
    expect(JSON.parse(written(getShape({ include: include(["metadatas"]) }), [hidden]))).toMatchObject({
      metadatas: [null],
    });
  });
});

describe("query", () => {
  it("writes one list per query", () => {
    expect(written(queryShape(queryInclude(everything), 2), [full, bare], [])).toBe(
      '{"ids":[["a\\"","b"],[]],"embeddings":[[[0.5,1.0],null],[]],"documents":[["text",null],[]],' +
        '"uris":[["file:///a",null],[]],"metadatas":[[{"n":1,"f":2.0},null],[]],' +
        '"distances":[[0.051316738,2.0],[]],"include":["distances","documents","embeddings","metadatas","uris"]}',
    );
  });

  it("writes one `null` for a column that is left out", () => {
    expect(written(queryShape(queryInclude([]), 2), [full], [bare])).toBe(
      '{"ids":[["a\\""],["b"]],"embeddings":null,"documents":null,"uris":null,"metadatas":null,' +
        '"distances":null,"include":[]}',
    );
    expect(written(queryShape(queryInclude(["distances"]), 0))).toContain('{"ids":[],');
  });
});

describe("search", () => {
  it("writes one entry per search with the columns it selected", () => {
    const request = searchFor(["#score", "n", "#document"], [], ["#metadata", "#embedding", "#id"]);
    expect(JSON.parse(written(searchShape(request), [full, bare], [full], [full, bare]))).toEqual({
      ids: [['a"', "b"], ['a"'], ['a"', "b"]],
      documents: [["text", null], null, null],
      embeddings: [null, null, [[0.5, 1], null]],
      metadatas: [[{ n: 1 }, null], null, [{ n: 1, f: 2, "chroma:document": "hidden" }, null]],
      scores: [[0.051316738, 2], null, null],
      select: [["#document", "#score", "n"], [], ["#id", "#embedding", "#metadata"]],
    });
  });

  it("keeps the order of the existing server's members", () => {
    expect(Object.keys(JSON.parse(written(searchShape(searchFor([])), [])) as object)).toEqual([
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
    expect(JSON.parse(written(searchShape(searchFor(["missing", "#score"])), records))).toMatchObject({
      metadatas: [[null, null]],
      scores: [[null, null]],
    });
  });

  it("answers no searches", () => {
    expect(written(searchShape(searchFor()))).toBe(
      '{"ids":[],"documents":[],"embeddings":[],"metadatas":[],"scores":[],"select":[]}',
    );
  });
});

describe("batches", () => {
  const records = Array.from({ length: 300 }, (_, index) => ({
    ...full,
    id: `${index}`,
    embedding: Float32Array.from({ length: 96 }, (_value, dimension) => Math.sin(index * 96 + dimension)),
  }));
  const request = searchFor(["#embedding", "#document"], ["n"], [], ["#metadata"]);
  const lists = [records.slice(0, 120), [], records.slice(120, 121), records.slice(121)];

  it("make up the same text wherever they are cut", () => {
    const asked = queryInclude(everything);
    for (const shape of [queryShape(asked, 4), searchShape(request)]) {
      const expected = written(shape, ...lists);
      for (const cut of [1, 7, 119, 120, 121, 122, 200]) {
        expect(inBatches(shape, lists, cut)).toBe(expected);
      }
    }
    const wanted = include(everything);
    expect(inBatches(getShape({ include: wanted }), [records], 50)).toBe(
      written(getShape({ include: wanted }), records),
    );
  });

  it("close lists of which nothing came", () => {
    expect(written(queryShape(queryInclude([]), 3))).toBe(
      written(queryShape(queryInclude([]), 3), [], [], []),
    );
  });

  it("write what is long in pieces, to the same text", () => {
    const smile = "\u{1f600}";
    const document = `x${smile.repeat(200_000)}"\n\ud83d${"y".repeat(300_000)}`;
    const numbers = Int32Array.from({ length: 100_000 }, (_, i) => i - 50_000);
    const values = new Map<string, MetadataValue>([
      ["text", document],
      ["numbers", numbers],
      ["floats", Float64Array.from(numbers, (n) => n / 4)],
      ["words", Array.from({ length: 40_000 }, (_, i) => `w${i}`)],
      ["chroma:document", "hidden"],
      ["sparse", { indices: Uint32Array.of(1), values: Float32Array.of(2) }],
    ]);
    const long = { ...full, document, metadata: values };
    const pieces: string[] = [];
    const writer = new ResultWriter(getShape({ include: include(everything) }), (_column, text) =>
      pieces.push(text),
    );
    for (const _ of writer.batch(0, [[bare, long, bare]]));
    writer.end();
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2_500_000);
    expect(pieces.length).toBeGreaterThan(30);
    const reply = JSON.parse(written(getShape({ include: include(everything) }), [bare, long, bare])) as {
      documents: unknown;
      metadatas: unknown;
    };
    expect(reply.documents).toEqual([null, document, null]);
    const shown = { text: document, numbers: [...numbers], floats: [...numbers].map((n) => n / 4) };
    const rest = {
      words: values.get("words"),
      sparse: { "#type": "sparse_vector", indices: [1], values: [2] },
    };
    expect(reply.metadatas).toEqual([null, { ...shown, ...rest }, null]);
  });
});

/** The whole reply, from one batch. */
function written(shape: ResultShape, ...lists: readonly (readonly ResultRecord[])[]): string {
  const columns: string[] = [];
  const writer = new ResultWriter(
    shape,
    (column, text) => (columns[column] = (columns[column] ?? "") + text),
  );
  for (const _ of writer.batch(0, lists));
  const end = writer.end();
  return columns.join("") + end;
}

/** The same from batches of `count` records. */
function inBatches(shape: ResultShape, lists: readonly (readonly ResultRecord[])[], count: number): string {
  const columns: string[] = [];
  const writer = new ResultWriter(
    shape,
    (column, text) => (columns[column] = (columns[column] ?? "") + text),
  );
  for (const [first, list] of lists.entries()) {
    for (let from = 0; from < list.length; from += count) {
      for (const _ of writer.batch(first, [list.slice(from, from + count)]));
    }
  }
  const end = writer.end();
  return columns.join("") + end;
}
