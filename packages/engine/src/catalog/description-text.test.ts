/** Descriptions come back as they were written, whatever they have in common with others. */
import { JsonFloat, type JsonObject } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { readDescription, writeDescription } from "./description-text.ts";

interface Description {
  readonly [name: string]: unknown;
  readonly configuration: JsonObject;
  readonly schema: JsonObject;
}

function described(name: string, configuration: JsonObject, schema: JsonObject): Description {
  return {
    ...{ id: "1", name, tenant: "t" },
    configuration,
    schema,
    ...{ version: 3, held: { records: 1 } },
  };
}

const written = (description: Description): string => writeDescription(description);
const read = (text: string): Description => readDescription(text) as Description;

const SCHEMAS: readonly JsonObject[] = [
  {},
  { keys: { a: { int: { enabled: true } } } },
  { keys: { a: { int: { enabled: true } }, b: {} } },
  { configuration: {}, schema: {}, '","schema":': ',"configuration":{}' },
  { whole: new JsonFloat(2), deep: [{ one: new JsonFloat(1e21) }], text: "\u007f2", marked: "\u007f\u007f" },
];

it("gives back what was written, of many that have a configuration or a schema in common", () => {
  for (let round = 0; round < 3; round++) {
    for (const [i, schema] of SCHEMAS.entries()) {
      for (const configuration of [schema, {}, { version: round }]) {
        const one = described(`${i} \u007f ","configuration":{}`, configuration, copyOf(schema));
        const again = read(written(one));
        expect(again).toStrictEqual(one);
        expect(read(written(again))).toStrictEqual(one);
        expect(JSON.parse(written(again))).toEqual(JSON.parse(written(one)));
      }
    }
  }
});

/** Another object that is the same. */
function copyOf(schema: JsonObject): JsonObject {
  return { ...schema };
}

it("shares what descriptions have in common, and nobody can change it for the others", () => {
  const text = written(described("one", { a: 1 }, { keys: { a: {} } }));
  const [one, other] = [read(text), read(text.replace("one", "other"))];
  expect(other["name"]).toBe("other");
  expect(other.schema).toBe(one.schema);
  expect(() => Object.assign(one.schema["keys"] as object, { b: {} })).toThrow(TypeError);
});

it("keeps no more than some of them, and reads what is no JSON as such", () => {
  for (let i = 0; i < 100; i++) {
    const one = described(String(i), {}, { i });
    expect(read(written(one))).toStrictEqual(one);
  }
  const text = written(described("one", {}, { i: 99 }));
  expect(() => read(text.slice(0, -1))).toThrow(SyntaxError);
  expect(() => read(`${text.slice(0, -1)},}`)).toThrow(SyntaxError);
});
