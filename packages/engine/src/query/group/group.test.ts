import type { GroupBy, MetadataValue } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { groupIdentity, identityPart } from "./group-identity.ts";
import { groupRecords } from "./group.ts";
import { Pace } from "../pace.ts";
import { RecordView } from "../record-view.ts";
import { TestCollection } from "../testing/test-collection.ts";

const PLAN = { space: "l2", embeddingFunction: null, sparse: [] } as const;

const LONG = 200_000;
/** Half of them share all but their last character. */
const LONG_TEXTS = ["é", "a"].flatMap((letter) => ["", "x", "y"].map((last) => letter.repeat(LONG) + last));

interface GroupOptions {
  readonly scores?: number[];
  readonly wanted?: number;
  readonly pace?: Pace;
}

class CountingPace extends Pace {
  breaths = 0;

  override breathe(): Promise<void> {
    this.breaths++;
    return super.breathe();
  }
}

/** Records `0`, `1`, ... in the order of their scores: 0, 1, ... */
async function group(
  values: Record<string, MetadataValue>[],
  groupBy: GroupBy,
  { scores, wanted = Infinity, pace = new Pace(undefined) }: GroupOptions = {},
): Promise<string[]> {
  const collection = new TestCollection(PLAN);
  for (const [i, metadata] of values.entries()) {
    collection.put(`${i}`, {
      embedding: Float32Array.of(1),
      document: null,
      uri: null,
      metadata: new Map(Object.entries(metadata)),
    });
  }
  const ranked = {
    positions: Int32Array.from(values.keys()),
    scores: Float32Array.from(scores ?? values.keys()),
  };
  const snapshot = collection.index.snapshot();
  const view = new RecordView(snapshot, collection, null);
  const { positions } = await groupRecords(ranked, groupBy, wanted, { view, pace });
  return Array.from(positions, (position) => snapshot.id(position));
}

function groupBy(operator: "$min_k" | "$max_k", keys: string[], k: number, by: string[] = ["c"]): GroupBy {
  return { keys: by, aggregate: { operator, keys, k } };
}

describe("groupRecords", () => {
  it("keeps the best of each group and orders them by score", async () => {
    const values = [{ c: "x" }, { c: "x" }, { c: "y" }, { c: "x" }, { c: "y" }];
    expect(await group(values, groupBy("$min_k", ["#score"], 1))).toStrictEqual(["0", "2"]);
    expect(await group(values, groupBy("$max_k", ["#score"], 2))).toStrictEqual(["1", "2", "3", "4"]);
  });

  it("keeps an int, a float, a string and a missing value apart", async () => {
    const values = [
      { c: 1n },
      { c: 1 },
      { c: "1" },
      {},
      { c: 1n },
      {},
      { c: Int8Array.of(1) },
      { c: Int8Array.of(1, 1) },
    ];
    expect(await group(values, groupBy("$min_k", ["#score"], 1))).toStrictEqual([
      "0",
      "1",
      "2",
      "3",
      "6",
      "7",
    ]);
  });

  it("takes a missing value as the smallest", async () => {
    const values = [{ c: 0n, y: 5n }, { c: 0n }, { c: 0n, y: 9n }];
    expect(await group(values, groupBy("$min_k", ["y"], 1))).toStrictEqual(["1"]);
    expect(await group(values, groupBy("$max_k", ["y"], 2))).toStrictEqual(["0", "2"]);
  });

  it("compares by one aggregate key after the other, ties by rank", async () => {
    const values = [
      { c: 0n, y: 1n, z: "b" },
      { c: 0n, y: 1n, z: "a" },
      { c: 0n, y: 0n, z: "z" },
      { c: 0n, y: 1n, z: "a" },
    ];
    expect(await group(values, groupBy("$min_k", ["y", "z"], 2))).toStrictEqual(["1", "2"]);
    expect(await group(values, groupBy("$max_k", ["y"], 1))).toStrictEqual(["0"]);
  });

  it("groups by several keys without mixing them up", async () => {
    const values = [
      { a: "1", c: "23" },
      { a: "12", c: "3" },
      { a: "1", c: "23" },
    ];
    expect(await group(values, groupBy("$min_k", ["#score"], 1, ["a", "c"]))).toStrictEqual(["0", "1"]);
  });

  it("breaks ties of the score by insertion order", async () => {
    const values = [{ c: "b" }, { c: "a" }, { c: "b" }, { c: "a" }];
    const kept = await group(values, groupBy("$min_k", ["#score"], 1), { scores: [1, 1, 1, 1] });
    expect(kept).toStrictEqual(["0", "1"]);
  });

  it("looks no further than it has to for the best by score", async () => {
    const values = [{ c: "a" }, { c: "a" }, { c: "a" }, { c: "b" }, { c: "b" }, { c: "a" }];
    const kept = await group(values, groupBy("$min_k", ["#score"], 2), { wanted: 3 });
    expect(kept).toStrictEqual(["0", "1", "3"]);
  });
});

describe("long metadata", () => {
  it("groups by the whole value", async () => {
    const values = [...LONG_TEXTS, ...LONG_TEXTS].map((c) => ({ c }));
    const kept = await group(values, groupBy("$min_k", ["#score"], 1));
    expect(kept).toStrictEqual(["0", "1", "2", "3", "4", "5"]);
    const last = await group(values, groupBy("$max_k", ["#score"], 1));
    expect(last).toStrictEqual(["6", "7", "8", "9", "10", "11"]);
  });

  it("orders by the whole value, ties by rank", async () => {
    const values = [...LONG_TEXTS, ...LONG_TEXTS].map((k) => ({ c: 0n, k }));
    expect(await group(values, groupBy("$max_k", ["k"], 3))).toStrictEqual(["1", "2", "8"]);
    expect(await group(values, groupBy("$min_k", ["k"], 3))).toStrictEqual(["3", "4", "9"]);
  });

  it("orders by arrays, and short strings beside long ones", async () => {
    const start = "a".repeat(64);
    const texts = [`${start}b`, start, `${start}a`, start.slice(1), start];
    const values: Record<string, MetadataValue>[] = texts.map((k) => ({ c: 0n, k }));
    values.push({ c: 0n, k: Int8Array.of(1, 2) }, { c: 0n }, { c: 0n, k: Int8Array.of(1) }, { c: 0n, k: 1n });
    const order = ["6", "8", "3", "1", "4", "2", "0", "7", "5"];
    for (let k = 1; k <= order.length; k++) {
      const expected = order.slice(0, k).sort();
      expect(await group(values, groupBy("$min_k", ["k"], k))).toStrictEqual(expected);
    }
  });

  it("takes a key again for nothing", async () => {
    const values = [{ c: "a", k: 1n }, { c: "a", k: 2n }, { c: "b" }];
    const kept = await group(values, groupBy("$max_k", ["k", "k", "#score", "k"], 1, ["c", "c"]));
    expect(kept).toStrictEqual(["1", "2"]);
  });

  it("looks at the clock with each long value, read or compared", async () => {
    const keys = ["c", "d", "e"];
    const values = LONG_TEXTS.map((text) => ({ c: text, d: text, e: text }));
    const grouping = new CountingPace(undefined);
    await group(values, groupBy("$max_k", ["c"], 1, keys), { pace: grouping });
    expect(grouping.breaths).toBeGreaterThanOrEqual(keys.length * values.length);
    const same = values.map(({ c }) => ({ c: 0n, d: LONG_TEXTS[0]!, e: c }));
    const ordering = new CountingPace(undefined);
    await group(same, groupBy("$max_k", ["d", "e"], 1), { pace: ordering });
    // All three values of a record are in its bytes; then each member but the first is compared with the best.
    expect(ordering.breaths).toBeGreaterThanOrEqual(3 * same.length + (same.length - 1));
  });
});

describe("groupIdentity", () => {
  const longValues: readonly MetadataValue[] = [
    ...LONG_TEXTS,
    LONG_TEXTS,
    LONG_TEXTS.slice(1),
    Array.from({ length: LONG }, () => ""),
    Array.from({ length: LONG }, (_, i) => i % 3 === 0),
    new Int8Array(LONG),
    new Int8Array(LONG).fill(1),
    new Int16Array(LONG / 2).fill(257),
    new Float64Array(LONG),
    new Float64Array(LONG).fill(1),
    { indices: Uint32Array.from({ length: LONG }, (_, i) => i), values: new Float32Array(LONG) },
  ];

  it("is short however long the values are, and one for each of them", () => {
    const parts = longValues.map((value) => identityPart(value));
    expect(new Set(parts).size).toBe(longValues.length);
    for (const part of parts) expect(part.length).toBeLessThan(100);
    const whole = groupIdentity(parts.join(""));
    expect(whole.length).toBeLessThan(100);
    expect(whole).not.toBe(groupIdentity(parts.toReversed().join("")));
    expect(longValues.map((value) => identityPart(structuredClone(value)))).toStrictEqual(parts);
  });

  it("has one for -0 and 0, alone and in short and long lists", () => {
    for (const length of [1, 1_000]) {
      const zeros = new Float64Array(length);
      expect(identityPart(zeros.map((zero) => -zero))).toBe(identityPart(zeros));
    }
    expect(identityPart(-0)).toBe(identityPart(0));
  });
});
