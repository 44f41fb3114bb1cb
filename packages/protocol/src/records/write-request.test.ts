import { describe, expect, it } from "vitest";
import { readJson } from "../json/json-reader.ts";
import { LIMITS } from "../limits.ts";
import { refusal } from "../testing/refusal.ts";
import type { WriteKind } from "./ast.ts";
import { parseWriteRequest } from "./write-request.ts";

const kinds: readonly WriteKind[] = ["add", "update", "upsert"];
const read = (body: string | object): unknown =>
  readJson(new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)));
const parse = (kind: WriteKind, body: string | object) => parseWriteRequest(kind, read(body));
const base64 = (...values: readonly number[]): string =>
  Buffer.from(Float32Array.from(values).buffer).toString("base64");

describe("a write", () => {
  it.each(kinds)("%s reads every column", (kind) => {
    const body = {
      ids: ["a", "b"],
      embeddings: [[0.1, 2], base64(0.1, 2)],
      documents: ["text", null],
      uris: [null, "file:///b"],
      metadatas: [{ n: 1, s: "x" }, null],
      unknown: 1,
    };
    const embedding = Float32Array.of(0.1, 2);
    expect(parse(kind, body)).toEqual({
      kind,
      records: [
        {
          id: "a",
          embedding,
          document: "text",
          uri: null,
          metadata: new Map<string, unknown>([
            ["n", 1n],
            ["s", "x"],
          ]),
        },
        { id: "b", embedding, document: null, uri: "file:///b", metadata: null },
      ],
    });
  });

  it.each(kinds)("%s takes absent and null for the same", (kind) => {
    const record = { id: "a", embedding: null, document: null, uri: null, metadata: null };
    const nulls = { embeddings: null, documents: null, uris: null, metadatas: null };
    expect(parse(kind, { ids: ["a"] }).records).toEqual([record]);
    expect(parse(kind, { ids: ["a"], ...nulls }).records).toEqual([record]);
    expect(
      parse(kind, { ids: ["a"], embeddings: [null], documents: [null], uris: [null], metadatas: [null] })
        .records,
    ).toEqual([record]);
  });

  it("may be empty, and may name an id twice", () => {
    expect(parse("add", { ids: [], embeddings: [] }).records).toEqual([]);
    expect(parse("add", { ids: ["a", "a"], documents: ["x", "y"] }).records).toHaveLength(2);
  });

  it("takes empty metadata for none and an empty document for a document", () => {
    expect(parse("add", { ids: ["a"], metadatas: [{}], documents: [""] }).records[0]).toMatchObject({
      metadata: null,
      document: "",
    });
  });

  it("removes keys in update and upsert", () => {
    const body = { ids: ["a"], metadatas: [{ k: null, n: 1 }] };
    const metadata = new Map<string, unknown>([
      ["k", null],
      ["n", 1n],
    ]);
    expect(parse("update", body).records[0]?.metadata).toEqual(metadata);
    expect(parse("upsert", body).records[0]?.metadata).toEqual(metadata);
  });

  it("keeps the kinds of numbers", () => {
    const { records } = parse(
      "add",
      '{"ids":["a"],"embeddings":[[1.0,2,3.5]],"metadatas":[{"i":3,"f":3.0}]}',
    );
    expect(records[0]?.embedding).toEqual(Float32Array.of(1, 2, 3.5));
    expect(records[0]?.metadata).toEqual(
      new Map<string, unknown>([
        ["i", 3n],
        ["f", 3],
      ]),
    );
  });

  it("gives every record a vector of its own memory", () => {
    const { records } = parse("add", { ids: ["a", "b"], embeddings: [base64(1, 2), [3, 4]] });
    for (const { embedding } of records) expect(embedding?.buffer.byteLength).toBe(8);
  });
});

describe("a write is refused", () => {
  const inconsistent = "Inconsistent number of IDs, embeddings, documents, URIs and metadatas";

  it.each([
    ["[]", "422 must be an object"],
    ["{}", "422 ids: is required"],
    ['{"ids":null}', "422 ids: is required"],
    ['{"ids":"a"}', "422 ids: must be an array"],
    ['{"ids":[1]}', "422 ids[0]: must be a string"],
    ['{"ids":["a",null]}', "422 ids[1]: must be a string"],
    ['{"ids":["a",""]}', "400 ids[1]: Empty ID, ID must have at least one character"],
    ['{"ids":["a"],"embeddings":[]}', `400 embeddings: ${inconsistent}: 1 ids, 0 embeddings`],
    ['{"ids":["a"],"documents":["x","y"]}', `400 documents: ${inconsistent}: 1 ids, 2 documents`],
    ['{"ids":["a"],"uris":[]}', `400 uris: ${inconsistent}: 1 ids, 0 uris`],
    ['{"ids":[],"metadatas":[{}]}', `400 metadatas: ${inconsistent}: 0 ids, 1 metadatas`],
    ['{"ids":["a"],"embeddings":{}}', "422 embeddings: must be an array"],
    ['{"ids":["a"],"embeddings":[5]}', "422 embeddings[0]: must be an array"],
    ['{"ids":["a"],"embeddings":[[]]}', "400 embeddings[0]: Each embedding must have at least 1 dimension"],
    ['{"ids":["a"],"embeddings":[["x"]]}', "422 embeddings[0][0]: must be a number"],
    ['{"ids":["a"],"embeddings":[[1,null]]}', "422 embeddings[0][1]: must be a number"],
    [
      '{"ids":["a"],"embeddings":[[1e39]]}',
      "400 embeddings[0][0]: Embeddings must not contain NaN or Infinity values",
    ],
    [
      '{"ids":["a"],"embeddings":[[-1e300]]}',
      "400 embeddings[0][0]: Embeddings must not contain NaN or Infinity values",
    ],
    [
      '{"ids":["a","b"],"embeddings":[[1,2],[1]]}',
      "400 embeddings[1]: Inconsistent dimensions in provided embeddings: 2 and 1",
    ],
    ['{"ids":["a"],"embeddings":["%%%%"]}', "400 embeddings[0]: Invalid base64 string"],
    ['{"ids":["a"],"embeddings":["AAAAA"]}', "400 embeddings[0]: Invalid base64 string"],
    [
      '{"ids":["a"],"embeddings":["AAAA"]}',
      "400 embeddings[0]: Invalid byte length: 3 bytes cannot be converted to f32 values (must be divisible by 4)",
    ],
    ['{"ids":["a"],"embeddings":[""]}', "400 embeddings[0]: Each embedding must have at least 1 dimension"],
    [
      '{"ids":["a"],"embeddings":["AADAfw=="]}',
      "400 embeddings[0]: Non-finite float value at embedding index 0: NaN",
    ],
    [
      '{"ids":["a"],"embeddings":["AAAAAAAAgH8="]}',
      "400 embeddings[0]: Non-finite float value at embedding index 1: Infinity",
    ],
    ['{"ids":["a"],"documents":[5]}', "422 documents[0]: must be a string"],
    ['{"ids":["a"],"uris":[{}]}', "422 uris[0]: must be a string"],
    ['{"ids":["a"],"metadatas":["x"]}', "422 metadatas[0]: must be an object"],
    [
      '{"ids":["a","b"],"metadatas":[null,{"#k":1}]}',
      "400 metadatas[1].#k: Metadata key cannot start with '#' or '$'",
    ],
    [
      '{"ids":["a","b"],"metadatas":[{},{"k":{}}]}',
      "422 metadatas[1].k: must not be an object, except for a sparse vector",
    ],
  ])("%s", (body, message) => {
    for (const kind of kinds) expect(refusal(() => parse(kind, body))).toBe(message);
  });

  it("for a null in the metadata of add, naming record and key", () => {
    expect(refusal(() => parse("add", { ids: ["a", "b"], metadatas: [null, { k: null }] }))).toBe(
      "422 metadatas[1].k: must not be null; only update and upsert take null, to remove a key",
    );
  });

  it("for as many records and bytes as are over a limit, not at it", () => {
    const ones = (count: number): number[] => Array.from({ length: count }, () => 1);
    const ids = (count: number) => ({ ids: Array.from({ length: count }, (_, index) => `${index}`) });
    const one = (key: string, value: unknown) => ({ ids: ["a"], [key]: [value] });
    const text = (bytes: number) => "é".repeat(bytes / 2);
    const cases = [
      [
        ids(LIMITS.recordsPerWrite),
        ids(LIMITS.recordsPerWrite + 1),
        "ids: holds 100001 records, the limit is 100000",
      ],
      [{ ids: [text(LIMITS.idBytes)] }, { ids: [`${text(LIMITS.idBytes)}a`] }, "ids[0]: is over 512 bytes"],
      [
        one("documents", text(LIMITS.documentBytes)),
        one("documents", `${text(LIMITS.documentBytes)}a`),
        "documents[0]: is over 16777216 bytes",
      ],
      [
        one("uris", text(LIMITS.uriBytes)),
        one("uris", `${text(LIMITS.uriBytes)}a`),
        "uris[0]: is over 8192 bytes",
      ],
      [
        one("embeddings", ones(LIMITS.dimensions)),
        one("embeddings", ones(LIMITS.dimensions + 1)),
        "embeddings[0]: has 4097 dimensions, the limit is 4096",
      ],
      [
        one("embeddings", base64(...ones(LIMITS.dimensions))),
        one("embeddings", base64(...ones(LIMITS.dimensions + 1))),
        "embeddings[0]: has 4097 dimensions, the limit is 4096",
      ],
    ] as const;
    for (const [within, over, message] of cases) {
      expect(refusal(() => parseWriteRequest("add", within))).toBe("accepted");
      expect(refusal(() => parseWriteRequest("add", over))).toBe(`400 ${message}`);
    }
  });
});
