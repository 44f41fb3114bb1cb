/**
 * Values that a schema of ours allows, for property tests. Rules that a JSON Schema cannot state (columns of equal
 * length, ascending indices) come in as adjustments of the values of a named schema.
 */
import * as fc from "fast-check";
import { COMPONENT_SCHEMAS } from "../component-schemas.ts";
import { componentName } from "../schema-parts.ts";

/** Name of a schema -> what makes one of its values keep the rules that the schema does not state. */
export type Adjustments = Readonly<Record<string, (value: never) => unknown>>;

interface Node {
  readonly [keyword: string]: unknown;
}

type Tie = (name: string) => fc.Arbitrary<unknown>;

const MOST_ITEMS = 4;
const MOST_CHARACTERS = 12;
/** Beyond, a float prints as an integer that 64 bits do not hold. */
const LARGEST = 1e6;

/** Times of which a body speaks lie ahead. */
const FUTURE = { min: new Date("2100-01-01"), max: new Date("2200-01-01"), noInvalidDate: true };

/** Values of the named schema. */
export function arbitraryOf(name: string, adjustments: Adjustments): fc.Arbitrary<unknown> {
  const values = fc.letrec((tie) =>
    Object.fromEntries(
      Object.entries(COMPONENT_SCHEMAS).map(([component, schema]) => {
        const adjust = adjustments[component];
        const arbitrary = build(schema, tie);
        return [
          component,
          adjust === undefined ? arbitrary : arbitrary.map((value) => adjust(value as never)),
        ];
      }),
    ),
  );
  return values[name] ?? fc.constant(undefined);
}

function build(node: Node, tie: Tie): fc.Arbitrary<unknown> {
  if (typeof node["$ref"] === "string") return tie(componentName(node["$ref"]) ?? "");
  if ("const" in node) return fc.constant(node["const"]);
  if (Array.isArray(node["enum"])) return fc.constantFrom(...(node["enum"] as unknown[]));
  if (Array.isArray(node["allOf"])) return all(node["allOf"] as Node[], tie);
  if (Array.isArray(node["anyOf"]) && node["type"] === undefined) return any(node["anyOf"] as Node[], tie);
  switch (node["type"]) {
    case "string":
      return text(node);
    case "integer":
      return fc.integer({ min: numberOf(node, "minimum", -1000), max: numberOf(node, "maximum", 1000) });
    case "number":
      return fc.float({ min: leastOf(node), max: numberOf(node, "maximum", LARGEST), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return array(node, tie);
    case "object":
      return object(node, tie);
    default:
      throw new Error(`no values for ${JSON.stringify(node)}`);
  }
}

/** Of a number. The only one that a schema excludes is 0. */
function leastOf(node: Node): number {
  return "exclusiveMinimum" in node ? 2 ** -10 : numberOf(node, "minimum", -LARGEST);
}

/** At its deepest only the first branch is taken, so one that refers to nothing comes first. */
function any(branches: readonly Node[], tie: Tie): fc.Arbitrary<unknown> {
  const refers = (branch: Node): number => Number(JSON.stringify(branch).includes('"$ref"'));
  const ordered = [...branches].sort((one, other) => refers(one) - refers(other));
  return fc.oneof({ maxDepth: 3 }, ...ordered.map((branch) => build(branch, tie)));
}

function all(parts: readonly Node[], tie: Tie): fc.Arbitrary<unknown> {
  return fc
    .tuple(...parts.map((part) => build(part, tie)))
    .map((values) => Object.assign({}, ...(values as object[])) as unknown);
}

function text(node: Node): fc.Arbitrary<string> {
  if (node["format"] === "uuid") return fc.uuid();
  if (node["format"] === "date-time") return fc.date(FUTURE).map((date) => date.toISOString());
  if (typeof node["pattern"] === "string") return fc.stringMatching(new RegExp(node["pattern"], "u"));
  const maxLength = Math.min(numberOf(node, "maxLength", MOST_CHARACTERS), MOST_CHARACTERS);
  return fc.string({ minLength: numberOf(node, "minLength", 0), maxLength });
}

function array(node: Node, tie: Tie): fc.Arbitrary<unknown> {
  const minLength = numberOf(node, "minItems", 0);
  const maxLength = Math.min(numberOf(node, "maxItems", MOST_ITEMS), minLength + MOST_ITEMS);
  return fc.array(build(node["items"] as Node, tie), { minLength, maxLength });
}

function object(node: Node, tie: Tie): fc.Arbitrary<unknown> {
  const patterns = Object.entries((node["patternProperties"] ?? {}) as Readonly<Record<string, Node>>);
  const [pattern] = patterns;
  if (pattern !== undefined) {
    const minKeys = numberOf(node, "minProperties", 0);
    const maxKeys = Math.min(numberOf(node, "maxProperties", MOST_ITEMS), MOST_ITEMS);
    const key = fc.stringMatching(new RegExp(pattern[0], "u"));
    return fc.dictionary(key, build(pattern[1], tie), { minKeys, maxKeys, noNullPrototype: true });
  }
  const properties = Object.entries((node["properties"] ?? {}) as Readonly<Record<string, Node>>);
  const members = properties.map(([name, member]) => [name, build(member, tie)] as const);
  return fc.record(Object.fromEntries(members), {
    requiredKeys: (node["required"] ?? []) as string[],
    noNullPrototype: true,
  });
}

function numberOf(node: Node, keyword: string, otherwise: number): number {
  const value = node[keyword];
  return typeof value === "number" ? value : otherwise;
}
