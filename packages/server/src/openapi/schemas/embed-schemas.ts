/** The embedding endpoints. */
import { LIMITS } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, count, maybe, orNull, ref, words } from "../schema-parts.ts";

const text = Type.String();
const flag = Type.Union([Type.Boolean(), words(["true", "false"])]);

const TOKENS = Type.Optional(
  arrayOf(ref("TextTokens"), { description: "One item per text, where `fetch_pieces` asked for them." }),
);

export const EMBED_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  EmbedBody: Type.Object(
    {
      texts: arrayOf(text, { maxItems: LIMITS.embedTexts, description: "Texts to embed." }),
      instructions: maybe(text, "A task sentence; may be empty. Models without instructions ignore it."),
      task: maybe(text, "A named task; may be empty."),
      target: maybe(text, "`documents` or `query`; may be empty."),
      truncate: maybe(
        Type.Union([words(["none", "end", "start"]), Type.Boolean()]),
        "What a text over the limit of the model loses. `/embed`: `none` by default, `/embed_sparse`: `end`. `true` is `end`, `false` is `none`.",
      ),
      fetch_labels: maybe(flag, "Send the term of each index of a sparse vector along."),
      fetch_tokens: maybe(flag, "Another name of `fetch_labels`."),
      fetch_pieces: maybe(
        flag,
        `Send along what the model reads of each text. At most ${LIMITS.piecesTexts} texts then.`,
      ),
    },
    {
      anyOf: [
        { required: ["instructions"], properties: { instructions: { type: "string" } } },
        {
          required: ["task", "target"],
          properties: { task: { type: "string" }, target: { type: "string" } },
        },
      ],
      description: "Carries `instructions`, or both `task` and `target`.",
      examples: [{ texts: ["Ships rise with the tide"], instructions: "" }],
    },
  ),
  DenseEmbeddings: Type.Object({
    embeddings: arrayOf(arrayOf(Type.Number()), { description: "One vector per text." }),
    num_tokens: count("Special tokens and the instruction count, padding does not."),
    tokens: TOKENS,
  }),
  TextTokens: Type.Object({
    count: count("Special tokens and the instruction count; of `sheaf/bm25` the words that do."),
    pieces: arrayOf(text, {
      description: "The first 1,000 tokens, as the vocabulary of the model has them.",
    }),
  }),
  SparseEmbedding: Type.Object({
    indices: arrayOf(count()),
    values: arrayOf(Type.Number()),
    labels: Type.Optional(orNull(arrayOf(text), "The term of each index, where it was asked for.")),
  }),
  SparseEmbeddings: Type.Object({
    embeddings: arrayOf(ref("SparseEmbedding"), { description: "One item per text." }),
    num_tokens: count(),
    tokens: TOKENS,
  }),
  EmbedError: Type.Object({
    error: Type.String({ description: "What is wrong, the place in the body first." }),
  }),
};
