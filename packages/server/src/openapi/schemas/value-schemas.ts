/** Values inside records: metadata, vectors, documents, and the names things go by. */
import { LIMITS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, closed, maybe, ref } from "../schema-parts.ts";

const UINT32_MAX = 2 ** 32 - 1;
/** No key of metadata is empty or begins with `#` or `$`. */
const METADATA_KEY = "^[^#$]";
const NAME_PART = "[a-zA-Z0-9][a-zA-Z0-9._-]+[a-zA-Z0-9]";

export const VALUE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Name: Type.String({
    minLength: LIMITS.nameCharactersMin,
    maxLength: LIMITS.nameCharacters,
    pattern: `^${NAME_PART}(?:\\+${NAME_PART})?$`,
    description:
      "Letters, digits, `.`, `_` and `-`, a letter or digit at both ends; no `..` and no IPv4 address. " +
      "One `+` may divide it in two such names.",
  }),
  TenantName: Type.String({
    minLength: 1,
    maxLength: LIMITS.tenantNameBytes,
    description: `${LIMITS.tenantNameBytesMin} to ${LIMITS.tenantNameBytes} bytes as UTF-8, no control characters.`,
  }),
  SparseVector: closed(
    {
      "#type": maybe(Type.Literal("sparse_vector"), "Replies always carry it."),
      indices: arrayOf(Type.Integer({ minimum: 0, maximum: UINT32_MAX }), {
        maxItems: LIMITS.sparseNonZeros,
        description: "Strictly ascending.",
      }),
      values: arrayOf(Type.Number(), {
        maxItems: LIMITS.sparseNonZeros,
        description: "32-bit floats, one per index.",
      }),
      tokens: maybe(arrayOf(Type.String()), "The term of each index."),
    },
    { description: "Indices and values of the entries that are not zero." },
  ),
  DenseVector: arrayOf(Type.Number(), {
    minItems: 1,
    maxItems: LIMITS.dimensions,
    description: "Finite as 32-bit floats.",
  }),
  Embedding: Type.Union([
    ref("DenseVector"),
    Type.String({
      contentEncoding: "base64",
      pattern: "^[A-Za-z0-9+/]+={0,2}$",
      description: "The vector's values as little-endian 32-bit floats, base64.",
    }),
  ]),
  MetadataValue: Type.Union(
    [
      Type.String(),
      Type.Boolean(),
      Type.Number(),
      arrayOf(Type.String()),
      arrayOf(Type.Boolean()),
      arrayOf(Type.Number()),
      ref("SparseVector"),
    ],
    {
      description:
        "An integer literal that fits 64 bits stays an integer, every other number is a float: `3` and `3.0` are kept apart.",
    },
  ),
  Metadata: Type.Record(METADATA_KEY, ref("MetadataValue"), {
    additionalProperties: false,
    maxProperties: LIMITS.metadataKeys,
    description: "Keys are not empty and do not begin with `#` or `$`.",
  }),
  MetadataPatch: Type.Record(METADATA_KEY, Type.Union([ref("MetadataValue"), Type.Null()]), {
    additionalProperties: false,
    maxProperties: LIMITS.metadataKeys,
    description: "As `Metadata`, laid over what is there; `null` removes a key.",
  }),
};
