import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.ts";
import type { MetadataKind } from "../metadata.ts";
import type { JsonObject } from "./ast.ts";
import { extendSchema, indexPlan } from "./index-plan.ts";
import { createOf } from "./testing/collection.ts";

const PLAIN = createOf({}).schema;

function seen(kinds: Record<string, readonly MetadataKind[]>): Map<string, Set<MetadataKind>> {
  return new Map(Object.entries(kinds).map(([key, list]) => [key, new Set(list)]));
}

function keysOf(schema: JsonObject | null): JsonObject {
  return (schema?.["keys"] ?? {}) as JsonObject;
}

describe("indexPlan", () => {
  it("reads a schema without sparse indexes", () => {
    expect(indexPlan(PLAIN)).toEqual({ space: "l2", embeddingFunction: null, sparse: [] });
  });

  it("leaves out sparse indexes that are off", () => {
    const keys = { s: { sparse_vector: { sparse_vector_index: { enabled: false, config: {} } } } };
    expect(indexPlan(createOf({ schema: { keys } }).schema).sparse).toEqual([]);
  });

  it("reads any JSON without falling over", () => {
    for (const schema of [{}, { keys: [] }, { keys: { s: null } }, { keys: { s: { sparse_vector: 1 } } }]) {
      expect(indexPlan(schema)).toEqual({ space: "l2", embeddingFunction: null, sparse: [] });
    }
  });
});

describe("extendSchema", () => {
  const STRING = {
    fts_index: { enabled: false, config: {} },
    string_inverted_index: { enabled: true, config: {} },
  };
  const INT = { int_inverted_index: { enabled: true, config: {} } };
  const FLOAT = { float_inverted_index: { enabled: true, config: {} } };
  const BOOL = { bool_inverted_index: { enabled: true, config: {} } };

  it("adds the default entry of each kind, arrays as their element", () => {
    const extended = extendSchema(
      PLAIN,
      seen({ n: ["int", "float"], s: ["string_array"], b: ["bool"], i: ["int_array"], f: ["float_array"] }),
    );
    expect(keysOf(extended)).toEqual({
      ...keysOf(PLAIN),
      n: { int: INT, float: FLOAT },
      s: { string: STRING },
      b: { bool: BOOL },
      i: { int: INT },
      f: { float: FLOAT },
    });
    expect(extended?.["defaults"]).toEqual(PLAIN["defaults"]);
  });

  it("adds sparse vectors without an index", () => {
    const extended = extendSchema(PLAIN, seen({ v: ["sparse_vector"] }));
    expect(keysOf(extended)["v"]).toMatchObject({
      sparse_vector: { sparse_vector_index: { enabled: false } },
    });
    expect(indexPlan(extended ?? {}).sparse).toEqual([]);
  });

  it("adds the defaults of this collection, not those of all", () => {
    const off = { int_inverted_index: { enabled: false, config: {} } };
    const { schema } = createOf({ schema: { defaults: { int: off } } });
    expect(keysOf(extendSchema(schema, seen({ n: ["int"] })))["n"]).toEqual({ int: off });
  });

  it("keeps what a key has and adds another kind to it", () => {
    const off = { string_inverted_index: { enabled: false, config: {} } };
    const { schema } = createOf({ schema: { keys: { x: { string: off } } } });
    expect(extendSchema(schema, seen({ x: ["string"] }))).toBeNull();
    expect(keysOf(extendSchema(schema, seen({ x: ["string", "int"] })))["x"]).toEqual({
      string: off,
      int: INT,
    });
  });

  it("has nothing to add for what it knows, for clients' own keys and for no keys", () => {
    const once = extendSchema(PLAIN, seen({ a: ["int"], b: ["string", "bool"] })) ?? {};
    expect(extendSchema(once, seen({ a: ["int_array"], b: ["bool"] }))).toBeNull();
    expect(extendSchema(PLAIN, seen({ "chroma:document": ["string"] }))).toBeNull();
    expect(extendSchema(PLAIN, new Map())).toBeNull();
  });

  it("changes nothing in the schema it was given", () => {
    const before = JSON.stringify(PLAIN);
    extendSchema(PLAIN, seen({ a: ["int"] }));
    expect(JSON.stringify(PLAIN)).toBe(before);
  });

  it("treats keys that JavaScript objects inherit as ordinary keys", () => {
    const kinds = new Map([
      ["__proto__", new Set<MetadataKind>(["int"])],
      ["constructor", new Set<MetadataKind>(["int"])],
    ]);
    const extended = extendSchema(PLAIN, kinds) ?? {};
    expect(JSON.stringify(extended["keys"])).toContain('"__proto__":{"int":');
    expect(JSON.stringify(extended["keys"])).toContain('"constructor":{"int":');
    expect(extendSchema(extended, kinds)).toBeNull();
  });

  it("stops listing keys at its bound, and still completes listed ones", () => {
    const many = Object.fromEntries(
      Array.from({ length: LIMITS.schemaKeys + 10 }, (_, i) => [`k${i}`, ["int"] as const]),
    );
    const full = extendSchema(PLAIN, seen(many)) ?? {};
    expect(Object.keys(keysOf(full))).toHaveLength(LIMITS.schemaKeys);
    expect(extendSchema(full, seen({ another: ["int"] }))).toBeNull();
    expect(keysOf(extendSchema(full, seen({ k0: ["bool"] })))["k0"]).toEqual({ int: INT, bool: BOOL });
  });
});
