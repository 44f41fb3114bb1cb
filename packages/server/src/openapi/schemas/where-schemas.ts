/** Filters: one key per object, and under a metadata key one operator. */
import { LIMITS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, closed, ref } from "../schema-parts.ts";

const scalar = Type.Union([Type.String(), Type.Boolean(), Type.Number()]);
const text = Type.String();
const contained = Type.String({ maxLength: LIMITS.containsCharacters });
const pattern = Type.String({
  maxLength: LIMITS.regexCharacters,
  description: "Regular expression in the syntax of Rust's `regex`: no look-around, no back-references.",
});
const many = { minItems: 1, maxItems: LIMITS.whereValues };
function either(operators: readonly string[], operand: JsonSchema): readonly JsonSchema[] {
  return operators.map((operator) => closed({ [operator]: operand }));
}

const onDocument = [
  ...either(["$contains", "$not_contains"], contained),
  ...either(["$regex", "$not_regex"], pattern),
];
const field = Type.Union([
  scalar,
  ...either(["$eq", "$ne", "$contains", "$not_contains"], scalar),
  ...either(["$gt", "$gte", "$lt", "$lte"], Type.Number()),
  ...either(["$in", "$nin"], ref("WhereValues")),
]);
const id = Type.Union([
  text,
  ...either(["$eq", "$ne"], text),
  ...either(["$in", "$nin"], arrayOf(text, many)),
]);

export const WHERE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Where: Type.Union(
    [
      ...either(["$and", "$or"], arrayOf(ref("Where"))),
      closed({ "#document": Type.Union([...onDocument]) }),
      closed({ "#id": id }),
      Type.Record("^[^#$]", field, {
        additionalProperties: false,
        minProperties: 1,
        maxProperties: 1,
      }),
    ],
    {
      description:
        `A filter with at most ${LIMITS.whereNodes} clauses. A bare scalar means \`$eq\`. A record without the key satisfies ` +
        "`$ne`, `$nin` and `$not_contains` and nothing else.",
    },
  ),
  WhereValues: Type.Union(
    [arrayOf(text, many), arrayOf(Type.Boolean(), many), arrayOf(Type.Number(), many)],
    { description: "Values of one kind. After an integer no float may follow." },
  ),
  WhereDocument: Type.Union([...either(["$and", "$or"], arrayOf(ref("WhereDocument"))), ...onDocument], {
    description: "A filter on documents.",
  }),
};
