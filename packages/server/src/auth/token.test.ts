import { describe, expect, it } from "vitest";
import { readToken } from "./token.ts";

describe("readToken", () => {
  it.each([
    [{ "x-service-token": "a" }, "a"],
    [{ "x-chroma-token": "a" }, "a"],
    [{ authorization: "Bearer a" }, "a"],
    [{ authorization: "bearer   a b " }, "a b"],
    [{ "x-service-token": "a", "x-chroma-token": "b", authorization: "Bearer c" }, "a"],
    [{ "x-chroma-token": "b", authorization: "Bearer c" }, "b"],
    [{ "x-service-token": "", "x-chroma-token": "b" }, "b"],
    [{ authorization: "Basic YTpi" }, null],
    [{ authorization: "Bearer" }, null],
    [{ authorization: "Bearer  " }, null],
    [{ "x-service-token": ["a", "b"] }, "a, b"],
    [{}, null],
  ])("%j -> %s", (headers, token) => {
    expect(readToken(headers)).toBe(token);
  });
});
