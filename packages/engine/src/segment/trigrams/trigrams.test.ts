import { describe, expect, it } from "vitest";
import { trigramsOf } from "./trigrams.ts";

describe("trigramsOf", () => {
  it("looks only at the beginning of a long text", () => {
    const beginning = "a".repeat(5_000);
    expect(trigramsOf(`${beginning}xyz`)).toEqual(trigramsOf(beginning));
    expect(trigramsOf("aaaxyz")).toHaveLength(4);
  });
});
