import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import { parseCommitRequest, parseReadRequest, writeCommitResult } from "./commit-request.ts";

const TOKEN = Number.MAX_SAFE_INTEGER;

function refusal(body: unknown): unknown {
  try {
    return parseCommitRequest(body);
  } catch (error) {
    return error;
  }
}

describe("commit body", () => {
  it("is read with nulls for what is absent, as clients send it", () => {
    const add = { ids: ["a"], embeddings: [[1]], documents: null, uris: null, metadatas: null };
    const remove = { ids: ["b"], where: null, where_document: null, limit: null };
    const operations = [
      { operation: "add", payload: add },
      { operation: "delete", payload: remove },
    ];
    const body = { read_token: TOKEN, read_ids: ["a", "b"], operations };
    const record = { id: "a", embedding: Float32Array.of(1), document: null, uri: null, metadata: null };
    expect(parseCommitRequest(body)).toEqual({
      token: TOKEN,
      readIds: ["a", "b"],
      operations: [
        { kind: "add", records: [record] },
        { kind: "delete", ids: ["b"] },
      ],
    });
    const nothing = { token: null, readIds: [], operations: [] };
    expect(parseCommitRequest({ read_token: null, read_ids: [], operations: [] })).toEqual(nothing);
  });

  it.each<[string, unknown, number, string]>([
    ["no object", [], 422, "must be an object"],
    ["no operations", {}, 422, "operations: is required"],
    ["a token below 0", { read_token: -1, operations: [] }, 400, "read_token: is not a read token"],
    ["a token beyond 2^53-1", { read_token: 2n ** 53n, operations: [] }, 400, "read_token: "],
    ["a token of another type", { read_token: "5", operations: [] }, 422, "read_token: "],
    ["a token that is no integer", { read_token: 5.5, operations: [] }, 422, "read_token: "],
    [
      "read ids without a token",
      { read_ids: ["a"], operations: [] },
      400,
      "read_token: conditional commit with read_ids requires read_token",
    ],
    [
      "too many read ids",
      { read_token: TOKEN, read_ids: Array(LIMITS.readIdsPerCommit + 1).fill("a"), operations: [] },
      400,
      "read_ids: ",
    ],
    [
      "too many operations",
      { operations: Array.from({ length: LIMITS.operationsPerCommit + 1 }, () => ({})) },
      400,
      "operations: ",
    ],
    [
      "an unknown operation",
      { operations: [{ operation: "replace", payload: {} }] },
      400,
      "operations[0].operation: ",
    ],
    ["no payload", { operations: [{ operation: "add" }] }, 422, "operations[0].payload: is required"],
    [
      "a payload of another type",
      { operations: [{ operation: "add", payload: [] }] },
      422,
      "operations[0].payload: must be an object",
    ],
    [
      "an error inside a payload",
      { operations: [{ operation: "add", payload: { ids: ["a", 1] } }] },
      422,
      "operations[0].payload.ids[1]: ",
    ],
    [
      "a delete by filter",
      { operations: [{ operation: "delete", payload: { where: { a: 1 } } }] },
      400,
      "operations[0].payload.where: ",
    ],
  ])("%s is refused with its path", (_, body, status, start) => {
    const error = refusal(body);
    expect(error).toMatchObject({ status });
    expect(String(error)).toContain(`SheafError: ${start}`);
  });
});

describe("read body", () => {
  it("is a get with a token", () => {
    expect(parseReadRequest({ ids: ["a"], read_token: null })).toMatchObject({
      token: null,
      get: { ids: ["a"] },
    });
    expect(parseReadRequest({ read_token: TOKEN })).toMatchObject({ token: TOKEN, get: { ids: null } });
  });
});

describe("commit result", () => {
  it("is written as clients read it", () => {
    const text = writeCommitResult({ firstSequence: 3, recordCount: 2 });
    expect(text).toBe('{"first_inserted_record_offset":3,"record_count":2}');
  });
});
