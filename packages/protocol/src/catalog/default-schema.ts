/**
 * The schema of a collection that was described by nothing. Every schema is this one with something laid over it, so
 * its order of members is the order of all replies.
 */
import { DOCUMENT_KEY, EMBEDDING_KEY } from "../system-keys.ts";
import type { JsonObject } from "./ast.ts";
import { resolveDense, withDenseIndex } from "./dense-index.ts";

/** Kinds of value that an index can be made for -> its indexes, in the order of replies. */
export const VALUE_TYPES = {
  string: ["fts_index", "string_inverted_index"],
  float_list: ["vector_index"],
  sparse_vector: ["sparse_vector_index"],
  int: ["int_inverted_index"],
  float: ["float_inverted_index"],
  bool: ["bool_inverted_index"],
} as const;

export type ValueType = keyof typeof VALUE_TYPES;
export type IndexName = (typeof VALUE_TYPES)[ValueType][number];

const ON: JsonObject = { enabled: true, config: {} };
const OFF: JsonObject = { enabled: false, config: {} };

const OUTLINE: JsonObject = {
  defaults: {
    string: { fts_index: OFF, string_inverted_index: ON },
    float_list: {},
    sparse_vector: {
      sparse_vector_index: {
        enabled: false,
        config: { embedding_function: { type: "unknown" }, bm25: false },
      },
    },
    int: { int_inverted_index: ON },
    float: { float_inverted_index: ON },
    bool: { bool_inverted_index: ON },
  },
  keys: {
    [DOCUMENT_KEY]: { string: { fts_index: ON, string_inverted_index: OFF } },
    [EMBEDDING_KEY]: {},
  },
};

export const DEFAULT_SCHEMA: JsonObject = withDenseIndex(OUTLINE, resolveDense([]));
