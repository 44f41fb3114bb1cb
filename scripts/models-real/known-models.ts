/**
 * What is true of the published weights of each model, from sources other than Sheaf: their cards, and what others have
 * computed with the same weights.
 */

interface KnownModel {
  readonly identifier: string;
  /** Understands more languages than English. */
  readonly multilingual: boolean;
}

export interface KnownDenseModel extends KnownModel {
  readonly kind: "dense";
  readonly dimension: number;
  readonly similarities: KnownSimilarities | null;
  readonly golden: KnownVectors | null;
}

/** Reference vectors that come with a model. */
export interface KnownVectors {
  readonly file: URL;
  /** The weights they were computed with; others are the published ones, from which these differ by rounding. */
  readonly revision: string;
}

/** Cosines of each query with each document. */
export interface KnownSimilarities {
  readonly source: string;
  readonly instruction: string;
  readonly queries: readonly string[];
  readonly documents: readonly string[];
  readonly cosines: readonly (readonly number[])[];
  /** The source computed with less precision than Sheaf does. */
  readonly tolerance: number;
}

export interface KnownSparseModel extends KnownModel {
  readonly kind: "sparse";
  readonly vocabulary: number;
  /** Ids of some words of it. */
  readonly words: ReadonlyMap<string, number>;
  /** Gives texts terms that they do not hold. */
  readonly expands: boolean;
  readonly terms: KnownTerms | null;
}

/** The whole vector of one text. */
export interface KnownTerms {
  readonly source: string;
  readonly text: string;
  readonly values: ReadonlyMap<number, number>;
  readonly tolerance: number;
}

/** The vocabulary of `bert-base-uncased`. */
const BERT = {
  vocabulary: 30_522,
  words: new Map([
    ["hello", 7_592],
    ["world", 2_088],
  ]),
} as const;
const SPLADE = { ...BERT, kind: "sparse", multilingual: false } as const;

export const KNOWN_MODELS: readonly (KnownDenseModel | KnownSparseModel)[] = [
  {
    identifier: "sentence-transformers/all-MiniLM-L6-v2",
    kind: "dense",
    dimension: 384,
    multilingual: false,
    similarities: null,
    golden: {
      file: new URL("../../packages/model-minilm/golden.json", import.meta.url),
      revision: "1110a243-f16",
    },
  },
  {
    identifier: "BAAI/bge-m3",
    kind: "dense",
    dimension: 1_024,
    multilingual: true,
    golden: null,
    similarities: {
      source: "the model's card",
      instruction: "",
      queries: ["What is BGE M3?", "Defination of BM25"],
      documents: [
        "BGE M3 is an embedding model supporting dense retrieval, lexical matching and multi-vector interaction.",
        "BM25 is a bag-of-words retrieval function that ranks a set of documents based on the query terms appearing in each document",
      ],
      cosines: [
        [0.6265, 0.3477],
        [0.3499, 0.678],
      ],
      // Computed in half precision.
      tolerance: 5e-3,
    },
  },
  {
    identifier: "Qwen/Qwen3-Embedding-0.6B",
    kind: "dense",
    dimension: 1_024,
    multilingual: true,
    golden: null,
    similarities: {
      source: "the model's card",
      instruction: "Given a web search query, retrieve relevant passages that answer the query",
      queries: ["What is the capital of China?", "Explain gravity"],
      documents: [
        "The capital of China is Beijing.",
        "Gravity is a force that attracts two bodies towards each other. It gives weight to physical objects and is responsible for the movement of planets around the sun.",
      ],
      cosines: [
        [0.7645568, 0.1414251],
        [0.1354974, 0.599955],
      ],
      tolerance: 2e-3,
    },
  },
  {
    ...SPLADE,
    identifier: "prithivida/Splade_PP_en_v1",
    expands: true,
    terms: {
      source: "the tests of fastembed",
      text: "Hello World",
      values: new Map([
        [2_040, 0.42195],
        [2_047, 0.43201],
        [2_088, 2.76658],
        [2_299, 0.33146],
        [2_748, 1.39517],
        [3_011, 0.0216],
        [3_376, 0.43771],
        [3_795, 0.00084],
        [4_774, 0.51872],
        [5_304, 0.17125],
        [5_798, 0.14742],
        [6_160, 0.81428],
        [7_592, 2.80326],
        [7_632, 2.19043],
        [8_484, 1.05314],
      ]),
      tolerance: 1e-3,
    },
  },
  { ...SPLADE, identifier: "naver/efficient-splade-VI-BT-large-doc", expands: true, terms: null },
  { ...SPLADE, identifier: "naver/efficient-splade-VI-BT-large-query", expands: false, terms: null },
];
