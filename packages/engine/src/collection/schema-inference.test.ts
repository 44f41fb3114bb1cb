import { LIMITS, type Metadata } from "@sheaf/protocol";
import { expect, it } from "vitest";
import type { StoredRecord } from "../storage/stored-record.ts";
import { runSteps } from "../storage/steps.ts";
import { SchemaInference } from "./schema-inference.ts";

function recordOf(i: number, metadata: Metadata): StoredRecord {
  const embedding = Float32Array.of(1);
  return { offset: i, sequence: i + 1, id: `r${i}`, embedding, document: null, uri: null, metadata };
}

/** No two records have a key in common. */
function recordsOf(count: number, keys: number): StoredRecord[] {
  return Array.from({ length: count }, (_, i) =>
    recordOf(i, new Map(Array.from({ length: keys }, (_, k) => [`k${i * keys + k}`, 1n]))),
  );
}

it("looks at so many keys in a step", () => {
  let steps = 0;
  const learning = new SchemaInference(() => false).learn(recordsOf(20, 1_000));
  while (learning.next().done !== true) steps++;
  expect(steps).toBeGreaterThanOrEqual(20_000 / 2_048 - 1);
});

it("knows as many keys as a schema lists, and all that it does list", () => {
  const kinds = new SchemaInference((key) => key === "k7999" || key === "k7998");
  const listed = recordOf(0, new Map([["k7998", "a"]]));
  const own = recordOf(1, new Map([["chroma:document", "a"]]));
  runSteps(kinds.learn([own, ...recordsOf(8, 1_000), listed]));
  expect(kinds.all.size).toBe(LIMITS.schemaKeys + 2);
  expect(kinds.all.get("k7998")).toEqual(new Set(["int", "string"]));
  expect(kinds.all.has(`k${LIMITS.schemaKeys - 1}`)).toBe(true);
  const news = kinds.news!;
  expect(news.size).toBe(LIMITS.schemaKeys + 2);
  kinds.published(news);
  runSteps(kinds.learn(recordsOf(8, 1_000)));
  expect(kinds.news).toBeNull();
  runSteps(kinds.learn([recordOf(2, new Map([["k0", true]]))]));
  expect(kinds.news).toEqual(new Map([["k0", new Set(["bool"])]]));
});
