/** What the compiler takes as a filter, given the type of the metadata. */
import { describe, expect, it } from "vitest";
import { K } from "../search/key.ts";
import type { Metadata } from "./metadata.ts";
import type { Where } from "./where-json.ts";

interface Note {
  readonly year: number;
  readonly topic?: "sea" | "food";
  readonly tags: readonly string[];
  readonly done: boolean;
}

describe("a filter of typed metadata", () => {
  it("has keys and values of the metadata", () => {
    const right: readonly Where<Note>[] = [
      { year: { $gte: 1990 } },
      { topic: "sea" },
      { topic: { $in: ["sea", "food"] } },
      { tags: { $contains: "old" } },
      { done: { $ne: true } },
      { $and: [{ year: 1990 }, { $or: [{ "#document": { $regex: "tide" } }, { "#id": { $in: ["a"] } }] }] },
      K("anything").eq(1),
    ];
    expect(right).toHaveLength(7);
    const wrong: readonly Where<Note>[] = [
      // @ts-expect-error there is no such field
      { yaer: 1990 },
      // @ts-expect-error a number is compared with a number
      { year: { $gte: "1990" } },
      // @ts-expect-error texts have no order
      { topic: { $gt: "sea" } },
      // @ts-expect-error no topic has this value
      { topic: "war" },
      // @ts-expect-error a list is searched for a member
      { tags: { $eq: "old" } },
      // @ts-expect-error inside of others, too
      { $and: [{ yaer: 1 }] },
    ];
    expect(wrong).toHaveLength(6);
  });

  it("has any keys where the type is not given", () => {
    const where: Where<Metadata> = { whatever: { $gt: 1 } };
    expect(where).toEqual({ whatever: { $gt: 1 } });
  });
});
