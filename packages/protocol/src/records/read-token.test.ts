import { describe, expect, it } from "vitest";
import { parseReadToken, writeReadToken } from "./read-token.ts";

const COLLECTION = "01234567-89ab-4cde-8f01-23456789abcd";
const EPOCH = "11234567-89ab-4cde-8f01-23456789abcd";

describe("read tokens", () => {
  it.each([
    { collection: COLLECTION, epoch: EPOCH, sequence: 0 },
    { collection: COLLECTION, epoch: "", sequence: Number.MAX_SAFE_INTEGER },
  ])("read back what they name: %j", (token) => {
    const text = writeReadToken(token);
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(parseReadToken(text, "read_token")).toEqual(token);
  });

  it.each([
    "",
    "x",
    "garbage",
    "not base64url!",
    "A".repeat(1_000),
    btoa(`${COLLECTION} ${EPOCH} -1`),
    btoa(`${COLLECTION} ${EPOCH} 9007199254740993`),
    btoa(`${COLLECTION} ${EPOCH}`),
    btoa(`x ${EPOCH} 1`),
  ])("refuse %j", (text) => {
    expect(() => parseReadToken(text, "read_token")).toThrow("read_token: is not a read token");
  });
});
