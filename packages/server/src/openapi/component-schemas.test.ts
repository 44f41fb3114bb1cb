import * as fc from "fast-check";
import { readJson } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { COMPONENT_SCHEMAS } from "./component-schemas.ts";
import { EXAMPLES } from "./examples.ts";
import { ref } from "./schema-parts.ts";
import { ACCEPTED_BODIES } from "./testing/accepted-bodies.ts";
import { ADJUSTMENTS } from "./testing/adjustments.ts";
import { BODY_PARSERS } from "./testing/body-parsers.ts";
import { arbitraryOf } from "./testing/schema-arbitrary.ts";
import { violation } from "./testing/schema-validator.ts";

const RUNS = 300;
const bodies = Object.keys(BODY_PARSERS);

/** As the server reads it. */
function parse(name: string, body: unknown): unknown {
  return BODY_PARSERS[name]?.(readJson(new TextEncoder().encode(JSON.stringify(body))));
}

describe("the schema of a body", () => {
  it.each(bodies)("%s allows nothing that its parser refuses", (name) => {
    const schema = ref(name);
    fc.assert(
      fc.property(arbitraryOf(name, ADJUSTMENTS), (body) => {
        expect(violation(schema, body)).toBeNull();
        expect(() => parse(name, body)).not.toThrow();
      }),
      { numRuns: RUNS },
    );
  });

  it.each(bodies.flatMap((name) => (ACCEPTED_BODIES[name] ?? []).map((body) => [name, body] as const)))(
    "%s allows %j, as its parser does",
    (name, body) => {
      parse(name, body);
      expect(violation(ref(name), body)).toBeNull();
    },
  );

  it.each(bodies)("%s has an example, which its parser takes", (name) => {
    expect(EXAMPLES[name]).toBeDefined();
    parse(name, EXAMPLES[name]);
    expect(violation(ref(name), EXAMPLES[name])).toBeNull();
  });

  it("is held by bodies of every kind", () => {
    expect(Object.keys(ACCEPTED_BODIES).sort()).toEqual([...bodies].sort());
  });

  it.each<[string, unknown]>([
    ["EmbedBody", { texts: ["a"] }],
    ["EmbedBody", { texts: ["a"], task: "", target: null }],
    ["EmbedBody", { texts: [1], instructions: "" }],
    ["AddBody", { ids: ["a"], metadatas: [{ k: null }] }],
    ["AddBody", { ids: [""] }],
    ["GetBody", { where: {} }],
    ["GetBody", { where: { a: { $regex: "x" } } }],
    ["GetBody", { include: ["data"] }],
    ["QueryBody", {}],
    ["SearchBody", { searches: [{ were: {} }] }],
    ["SearchBody", { searches: [{ rank: { $sum: [{ $val: 1 }] } }] }],
    ["SearchBody", { searches: [{ rank: { $val: 1, $abs: { $val: 1 } } }] }],
    ["SearchBody", { searches: [{ rank: { $knn: { query: [1], limit: 0 } } }] }],
    ["SearchBody", { searches: [{ select: { keys: ["#nope"] } }] }],
    ["CollectionBody", { name: "a b" }],
    ["CollectionBody", { name: "abc", metadata: {} }],
    ["CollectionUpdate", { new_configuration: { hnsw: { space: "l2" } } }],
    ["TenantBody", {}],
    ["KeyBody", { name: "a", tenant: "acme", scopes: ["read"], databse: "app" }],
    ["KeyBody", { name: "a", tenant: "acme", scopes: ["read"], limits: { per_minute: 1 } }],
    ["RotateBody", { expires: "2030-01-31T12:00:00Z" }],
  ])("%s refuses %j, as its parser does", (name, body) => {
    expect(violation(ref(name), body)).not.toBeNull();
    expect(() => parse(name, body)).toThrow();
  });
});

describe("examples", () => {
  const examples = Object.entries(COMPONENT_SCHEMAS).flatMap(([name, schema]) =>
    ("examples" in schema ? (schema["examples"] as unknown[]) : []).map(
      (example) => [name, example] as const,
    ),
  );

  it.each(examples)("of %s keep the schema and pass the parser", (name, example) => {
    expect(violation(ref(name), example)).toBeNull();
    expect(() => parse(name, example)).not.toThrow();
  });
});
