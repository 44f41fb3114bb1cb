/** Filters as JSON whose keys and values are those of a collection's metadata. */
import type { WhereExpression, WhereJson } from "../search/where.ts";

type Operators<Names extends string, V> = { readonly [N in Names]: { readonly [P in N]: V } }[Names];

type ScalarFilter<V> =
  | V
  | Operators<"$eq" | "$ne", V>
  | Operators<"$in" | "$nin", readonly V[]>
  | ([V] extends [number] ? Operators<"$gt" | "$gte" | "$lt" | "$lte", number> : never);

type FieldFilter<V> = [V] extends [string | number | boolean]
  ? ScalarFilter<V>
  : V extends readonly (infer E)[]
    ? Operators<"$contains" | "$not_contains", E>
    : never;

/** One key, and below a field one operator. */
type FieldWhere<M> =
  | { readonly [K in keyof M & string]: { readonly [P in K]: FieldFilter<NonNullable<M[P]>> } }[keyof M &
      string]
  | { readonly "#document": Operators<"$contains" | "$not_contains" | "$regex" | "$not_regex", string> }
  | {
      readonly "#id":
        | string
        | Operators<"$eq" | "$ne", string>
        | Operators<"$in" | "$nin", readonly string[]>;
    };

type FieldsWhere<M> =
  | FieldWhere<M>
  | { readonly $and: readonly FieldsWhere<M>[] }
  | { readonly $or: readonly FieldsWhere<M>[] };

/** As JSON, such as `{ year: { $gte: 1990 } }`, or made with `K`. Where the type of the metadata is not given, any keys. */
export type Where<M> = WhereExpression | (string extends keyof M ? WhereJson : FieldsWhere<M>);
