/** What a dense model with the right weights, graph, tokenizer and pooling fulfils, and one with wrong ones does not. */
import { readFile } from "node:fs/promises";
import type { Embedder } from "@sheaf/inference";
import { type Finding, finding, small } from "./finding.ts";
import type { KnownDenseModel, KnownSimilarities, KnownVectors } from "./known-models.ts";
import { MIXED_LENGTHS, PARAPHRASES, TRANSLATIONS, type Triple } from "./sample-texts.ts";

interface Golden {
  readonly tolerance: number;
  readonly max_abs_diff_to_published_weights: number;
  readonly cases: readonly { readonly text: string; readonly embedding?: readonly number[] }[];
}

const BATCH_TOLERANCE = 1e-5;
const LENGTH_TOLERANCE = 1e-5;
/** Cosine by which a paraphrase has to be nearer than another text. */
const MARGIN = 0.1;

type Embed = (texts: readonly string[], instruction?: string) => Promise<readonly Float32Array[]>;

export async function checkDense(embedder: Embedder, model: KnownDenseModel): Promise<readonly Finding[]> {
  const { identifier, dimension, multilingual, similarities, golden } = model;
  const embed: Embed = async (texts, instruction = "") =>
    (await embedder.dense({ model: identifier, texts, instruction, truncate: "end" })).vectors;
  const { revision } = await embedder.identity(identifier);
  const together = await embed(MIXED_LENGTHS);
  return [
    finding(
      together.every(({ length }) => length === dimension),
      `${together[0]?.length ?? 0} of ${dimension} dimensions`,
    ),
    checkLength(together),
    await checkBatch(embed, together),
    await checkTriples(embed, "paraphrases", PARAPHRASES),
    ...(multilingual ? [await checkTriples(embed, "translations", TRANSLATIONS)] : []),
    ...(similarities === null ? [] : [await checkSimilarities(embed, similarities)]),
    ...(golden === null ? [] : [await checkGolden(embed, golden, revision)]),
  ];
}

function checkLength(vectors: readonly Float32Array[]): Finding {
  const off = Math.max(...vectors.map((vector) => Math.abs(Math.sqrt(dot(vector, vector)) - 1)));
  return finding(off <= LENGTH_TOLERANCE, `unit length within ${small(off)}`);
}

/** The vectors of texts that are embedded one by one must be those of a batch. */
async function checkBatch(embed: Embed, together: readonly Float32Array[]): Promise<Finding> {
  let worst = 0;
  for (const [index, text] of MIXED_LENGTHS.entries()) {
    const [alone] = await embed([text]);
    worst = Math.max(worst, largestDifference(together[index], alone));
  }
  return finding(
    worst <= BATCH_TOLERANCE,
    `${MIXED_LENGTHS.length} texts alone as in a batch within ${small(worst)}`,
  );
}

async function checkTriples(embed: Embed, what: string, triples: readonly Triple[]): Promise<Finding> {
  const margins: number[] = [];
  for (const { text, near, far } of triples) {
    const [a, b, c] = await embed([text, near, far]);
    margins.push(cosine(a, b) - cosine(a, c));
  }
  const least = Math.min(...margins);
  return finding(least >= MARGIN, `${triples.length} ${what} nearer by ${least.toFixed(2)} or more`);
}

async function checkSimilarities(embed: Embed, known: KnownSimilarities): Promise<Finding> {
  const { source, instruction, queries, documents, cosines, tolerance } = known;
  const asked = await embed(queries, instruction);
  const given = await embed(documents);
  const off = asked.flatMap((query, row) =>
    given.map((document, column) =>
      Math.abs(cosine(query, document) - (cosines[row]?.[column] ?? Number.NaN)),
    ),
  );
  const worst = Math.max(...off);
  return finding(worst <= tolerance, `${off.length} cosines of ${source} within ${small(worst)}`);
}

async function checkGolden(embed: Embed, known: KnownVectors, revision: string): Promise<Finding> {
  const golden = JSON.parse(await readFile(known.file, "utf8")) as Golden;
  const cases = golden.cases.flatMap(({ text, embedding }) =>
    embedding === undefined ? [] : [{ text, embedding }],
  );
  const vectors = await embed(cases.map(({ text }) => text));
  const differences = cases.map(({ embedding }, index) => largestDifference(vectors[index], embedding));
  const worst = Math.max(...differences);
  const rounding = revision === known.revision ? 0 : golden.max_abs_diff_to_published_weights;
  const tolerance = golden.tolerance + rounding;
  return finding(worst <= tolerance, `${cases.length} reference vectors within ${small(worst)}`);
}

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined) return Number.NaN;
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);
}

/** `NaN` and `Infinity` fail every bound. */
function largestDifference(a: ArrayLike<number> | undefined, b: ArrayLike<number> | undefined): number {
  if (a === undefined || b === undefined || a.length !== b.length) return Infinity;
  return Math.max(...Array.from(a, (value, index) => Math.abs(value - (b[index] ?? Number.NaN))));
}
