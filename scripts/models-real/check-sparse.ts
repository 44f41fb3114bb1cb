/** What a sparse model with the right weights, graph, tokenizer and pooling fulfils, and one with wrong ones does not. */
import type { Embedder } from "@sheaf/inference";
import type { SparseVector } from "@sheaf/protocol";
import { type Finding, finding, small } from "./finding.ts";
import type { KnownSparseModel, KnownTerms } from "./known-models.ts";
import { MIXED_LENGTHS, QUESTIONS } from "./sample-texts.ts";

const BATCH_TOLERANCE = 1e-5;
/** How much better the document that answers has to score than the other. */
const RATIO = 1.5;
/** Terms beyond its own that an expanding model gives a text of two words. */
const ADDED_TERMS = 3;

type Embed = (texts: readonly string[], model?: string) => Promise<readonly SparseVector[]>;

export async function checkSparse(embedder: Embedder, known: KnownSparseModel): Promise<readonly Finding[]> {
  const { identifier, terms } = known;
  const embed: Embed = async (texts, model = identifier) =>
    (await embedder.sparse({ model, texts, instruction: "", truncate: "end" })).vectors;
  const together = await embed(MIXED_LENGTHS);
  const { queryModel } = embedder.model(identifier);
  const forQueries = queryModel !== null && embedder.model(queryModel).available ? queryModel : identifier;
  return [
    checkVocabulary(together, known),
    await checkBatch(embed, together),
    await checkWords(embed, known),
    await checkQuestions(embed, forQueries),
    ...(terms === null ? [] : [await checkTerms(embed, terms)]),
  ];
}

function checkVocabulary(vectors: readonly SparseVector[], { vocabulary }: KnownSparseModel): Finding {
  const right = vectors.every(
    ({ indices, values, tokens = [] }) =>
      indices.length > 0 &&
      indices.length < vocabulary / 10 &&
      indices.every((index, position) => index < vocabulary && index > (indices[position - 1] ?? -1)) &&
      values.every((value) => value > 0) &&
      tokens.length === indices.length,
  );
  const most = Math.max(...vectors.map(({ indices }) => indices.length));
  return finding(right, `at most ${most} terms of a vocabulary of ${vocabulary}`);
}

/** Values near nothing may be there or not. */
async function checkBatch(embed: Embed, together: readonly SparseVector[]): Promise<Finding> {
  let worst = 0;
  for (const [index, text] of MIXED_LENGTHS.entries()) {
    const [alone] = await embed([text]);
    worst = Math.max(worst, largestDifference(valuesOf(together[index]), valuesOf(alone)));
  }
  return finding(
    worst <= BATCH_TOLERANCE,
    `${MIXED_LENGTHS.length} texts alone as in a batch within ${small(worst)}`,
  );
}

/** A wrong vocabulary, or a head over the wrong layer, loses the words that stand in the text. */
async function checkWords(embed: Embed, { words, expands }: KnownSparseModel): Promise<Finding> {
  const text = [...words.keys()].join(" ");
  const [vector] = await embed([text]);
  const terms = new Map(Array.from(vector?.indices ?? [], (index, at) => [index, vector?.tokens?.[at]]));
  const own = [...words].filter(([word, id]) => terms.get(id) === word);
  const added = terms.size - own.length;
  const right = own.length === words.size && (!expands || added >= ADDED_TERMS);
  return finding(right, `${own.length} of ${words.size} words of "${text}", and ${added} more terms`);
}

async function checkQuestions(embed: Embed, forQueries: string): Promise<Finding> {
  const ratios: number[] = [];
  for (const { text, near, far } of QUESTIONS) {
    const [query] = await embed([text], forQueries);
    const [answer, other] = await embed([near, far]);
    ratios.push(dot(query, answer) / Math.max(dot(query, other), Number.MIN_VALUE));
  }
  const least = Math.min(...ratios);
  const shown = least > 100 ? "over 100" : least.toFixed(1);
  const by = `queries by ${forQueries}`;
  return finding(least >= RATIO, `${QUESTIONS.length} answers score ${shown} times others or more (${by})`);
}

async function checkTerms(embed: Embed, { source, text, values, tolerance }: KnownTerms): Promise<Finding> {
  const [vector] = await embed([text]);
  const worst = largestDifference(valuesOf(vector), values);
  return finding(worst <= tolerance, `${values.size} terms of ${source} within ${small(worst)}`);
}

function valuesOf(vector: SparseVector | undefined): ReadonlyMap<number, number> {
  const { indices, values } = vector ?? { indices: new Uint32Array(), values: new Float32Array() };
  return new Map(Array.from(indices, (index, position) => [index, values[position] ?? Number.NaN]));
}

function dot(a: SparseVector | undefined, b: SparseVector | undefined): number {
  const other = valuesOf(b);
  let sum = 0;
  for (const [index, value] of valuesOf(a)) sum += value * (other.get(index) ?? 0);
  return sum;
}

function largestDifference(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): number {
  const indices = new Set([...a.keys(), ...b.keys()]);
  return Math.max(0, ...Array.from(indices, (index) => Math.abs((a.get(index) ?? 0) - (b.get(index) ?? 0))));
}
