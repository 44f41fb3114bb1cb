/** The builders against those of npm `chromadb`: one random program runs on both, and both must make the same JSON or both refuse. */
import * as chroma from "chromadb";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as sheaf from "../index.ts";

/** A call of a builder (`of` is null) or of a method of what another call gave; `make` is for classes. */
class Call {
  readonly of: Call | null;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly make: boolean;

  constructor(of: Call | null, name: string, args: readonly unknown[] = [], make = false) {
    this.of = of;
    this.name = name;
    this.args = args;
    this.make = make;
  }
}

type Program = fc.Arbitrary<Call>;
type Anything = fc.Arbitrary<unknown>;
type Callable = (...args: readonly unknown[]) => unknown;

const one = (...names: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...names);
const build = (name: fc.Arbitrary<string>, ...args: readonly Anything[]): Program =>
  fc.tuple(name, ...args).map(([text, ...given]) => new Call(null, text, given));
const create = (name: string, ...args: readonly Anything[]): Program =>
  fc.tuple(...args).map((given) => new Call(null, name, given, true));
const method = (of: Program, name: fc.Arbitrary<string>, ...args: readonly Anything[]): Program =>
  fc.tuple(of, name, ...args).map(([target, text, ...given]) => new Call(target, text, given));
const spread = (call: Program): Program =>
  call.map(({ of, name, args }) => new Call(of, name, args[0] as readonly unknown[]));
/** Refusals are compared too, but one refused part makes a whole program one. */
const mostly = (valid: Anything, wrong: Anything): Anything =>
  fc.oneof({ weight: 40, arbitrary: valid }, { weight: 1, arbitrary: wrong });

const number = fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
const scalar = fc.oneof(fc.string(), number, fc.boolean());
const field = one("year", "topic", "$odd", "#document", "#score", "");
const key = fc.oneof(
  build(fc.constant("K"), field),
  one("ID", "DOCUMENT", "EMBEDDING", "METADATA", "SCORE").map((name) => new Call(null, `K.${name}`)),
);
const keyInput: Anything = fc.oneof(field, key);

const sparse = fc.record({ indices: fc.array(fc.nat()), values: fc.array(number) });
const knn = fc.record(
  {
    query: fc.oneof(
      fc.string(),
      fc.array(number),
      sparse,
      fc.array(number).map((values) => Float32Array.from(values)),
    ),
    key: keyInput,
    limit: mostly(fc.integer({ min: 1, max: 300 }), fc.constant(0)),
    default: mostly(fc.oneof(number, fc.constant(null)), fc.constant(Number.NaN)),
    returnRank: fc.boolean(),
  },
  { requiredKeys: ["query"] },
);
const raw = { $sum: [{ $val: 1 }, { $knn: { query: "as it is" } }] };
const { rank } = fc.letrec<{ rank: Call; input: unknown }>((tie) => {
  const some = mostly(fc.array(tie("input"), { minLength: 1, maxLength: 3 }), fc.constant([]));
  const weight = mostly(fc.double({ min: 0, max: 3, noNaN: true }), fc.constantFrom(-1, 0));
  const fusion = fc
    .record(
      {
        pairs: mostly(
          fc.array(fc.tuple(tie("input"), weight), { minLength: 1, maxLength: 3 }),
          fc.constant([]),
        ),
        k: mostly(fc.integer({ min: 1, max: 99 }), fc.constantFrom(-1, 0, 0.5)),
        normalize: fc.boolean(),
        weighted: fc.boolean(),
        extra: mostly(fc.constant([]), fc.constant([1])),
      },
      { requiredKeys: ["pairs", "weighted", "extra"] },
    )
    .map(({ pairs, weighted, extra, ...rest }) => {
      const [ranks, weights] = [0, 1].map((i) => (pairs as readonly unknown[][]).map((pair) => pair[i]));
      return {
        ranks,
        ...rest,
        ...(weighted ? { weights: [...(weights ?? []), ...(extra as unknown[])] } : {}),
      };
    });
  return {
    input: fc.oneof({ maxDepth: 4 }, number, fc.constant(raw), tie("rank")),
    rank: fc.oneof(
      { maxDepth: 4 },
      build(fc.constant("Val"), number),
      build(fc.constant("Knn"), knn),
      build(fc.constant("Rrf"), fusion),
      spread(method(tie("rank"), one("add", "multiply", "max", "min"), some)),
      method(tie("rank"), one("subtract", "divide"), tie("input")),
      method(tie("rank"), one("negate", "abs", "exp", "log")),
      spread(build(one("Sum", "Mul", "Max", "Min"), some)),
      build(one("Sub", "Div"), tie("input"), tie("input")),
      build(one("Abs", "Exp", "Log"), tie("input")),
    ),
  };
});

const comparison = fc.oneof(
  method(key, one("eq", "ne", "gt", "gte", "lt", "lte", "contains", "notContains"), scalar),
  method(key, one("isIn", "notIn"), mostly(fc.array(scalar, { minLength: 1 }), fc.constant([]))),
  method(key, one("regex", "notRegex"), mostly(fc.string(), fc.constant(1))),
);
const { json: whereJson } = fc.letrec<{ json: object }>((tie) => {
  const operands = mostly(fc.array(tie("json"), { minLength: 1, maxLength: 3 }), fc.constant([]));
  const operator = mostly(
    one("$eq", "$gt", "$in", "$not_contains"),
    fc.constant("$foo"),
  ) as fc.Arbitrary<string>;
  const pair = (name: fc.Arbitrary<string>, value: Anything): fc.Arbitrary<object> =>
    fc.tuple(name, value).map(([text, held]) => ({ [text]: held }));
  return {
    json: fc.oneof(
      { maxDepth: 3 },
      pair(field, scalar),
      pair(field, pair(operator, scalar)),
      pair(one("$and", "$or"), operands),
      mostly(pair(field, scalar), fc.constant({ a: 1, b: 2 })) as fc.Arbitrary<object>,
    ),
  };
});
const { where } = fc.letrec<{ where: Call }>((tie) => ({
  where: fc.oneof(
    { maxDepth: 4 },
    comparison,
    method(tie("where"), one("and", "or"), tie("where")),
    method(tie("where"), one("and", "or"), fc.option(whereJson)),
  ),
}));

const count = mostly(fc.integer({ min: 1, max: 4 }), fc.constant(0));
const keys = mostly(fc.array(key, { minLength: 1, maxLength: 2 }), fc.constant([]));
const aggregate = fc.oneof(
  create("MinK", keys, count),
  create("MaxK", keys, count),
  build(one("Aggregate.minK", "Aggregate.maxK"), fc.array(keyInput, { minLength: 1 }), count),
);
const groupBy = fc.oneof(
  create("GroupBy", keys, aggregate),
  build(
    fc.constant("GroupBy.from"),
    fc.record({
      keys: fc.tuple(field),
      aggregate: fc.record({ $max_k: fc.record({ keys: fc.tuple(field), k: count }) }),
    }),
  ),
);

const page = fc.record({ offset: mostly(fc.nat(9), fc.constant(-1)), limit: count });
const select = fc.oneof(
  fc.array(keyInput),
  create("Select", fc.array(keyInput)),
  fc.record({ keys: fc.array(field) }),
);
const { search } = fc.letrec<{ search: Call }>((tie) => ({
  search: fc.oneof(
    { maxDepth: 6 },
    create("Search"),
    create(
      "Search",
      fc.record({ where, rank, groupBy, limit: fc.oneof(page, count), select }, { requiredKeys: [] }),
    ),
    method(tie("search"), fc.constant("where"), fc.oneof(where, whereJson, fc.constant(null))),
    method(tie("search"), fc.constant("rank"), fc.oneof(rank, fc.constant(raw), fc.constant(null))),
    method(tie("search"), fc.constant("groupBy"), groupBy),
    method(tie("search"), fc.constant("limit"), fc.oneof(count, page, create("Limit", page))),
    method(tie("search"), fc.constant("limit"), count, fc.nat(9)),
    method(tie("search"), fc.constant("select"), select),
    spread(method(tie("search"), fc.constant("select"), fc.array(keyInput))),
    method(tie("search"), fc.constant("selectAll")),
  ),
}));

/** What a value of a program is with the builders of one package. */
function run(builders: object, value: unknown): unknown {
  if (value instanceof Call) {
    const owner = value.of === null ? builders : run(builders, value.of);
    const args = value.args.map((arg) => run(builders, arg));
    const [target, holder] = resolve(owner, value.name);
    if (value.make) return new (target as new (...given: readonly unknown[]) => unknown)(...args);
    return typeof target === "function" ? (target as Callable).apply(holder, args) : target;
  }
  if (Array.isArray(value)) return value.map((item) => run(builders, item));
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, run(builders, item)]));
}

/** A member by its path, and what it is a member of. */
function resolve(owner: unknown, path: string): [unknown, unknown] {
  let holder: unknown = owner;
  let found: unknown = owner;
  for (const name of path.split(".")) {
    holder = found;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return [found, holder];
}

/** As text, so that the order of members and the sign of zero count. */
function outcome(builders: object, program: Call): string {
  try {
    return JSON.stringify(run(builders, program));
  } catch {
    return "refused";
  }
}

describe("the builders make what npm chromadb makes", () => {
  it.each([
    ["rank expressions", rank],
    ["filters", where],
    ["filters as JSON", method(create("Search", fc.record({ where: whereJson })), fc.constant("toPayload"))],
    ["groups", groupBy],
    ["whole searches", method(search, fc.constant("toPayload"))],
  ])("of %s", (_, programs) => {
    let [made, refused] = [0, 0];
    const sameOutcome = (program: Call): void => {
      const ours = outcome(sheaf, program);
      expect(ours).toBe(outcome(chroma, program));
      if (ours === "refused") refused += 1;
      else made += 1;
    };
    fc.assert(fc.property(programs, sameOutcome), { numRuns: 400 });
    expect(made).toBeGreaterThan(refused);
  });
});
