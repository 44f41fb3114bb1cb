/** The tiny models of `fixtures/models`, their golden values, and a way to run a prepared one in the test's process. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Tokenizer } from "@huggingface/tokenizers";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { useExactCharsmap } from "../../tokenize/precompiled-normalizer.ts";
import { batchFeeds } from "../model-inputs.ts";
import type { PreparedModel } from "../prepare-model.ts";

export interface GoldenSparse {
  readonly indices: readonly number[];
  readonly values: readonly number[];
  readonly labels: readonly string[];
}

export interface GoldenCase {
  readonly id: string;
  readonly prompt_text: string;
  /** After the limit; `full_ids` before it, where that differs. */
  readonly ids: readonly number[];
  readonly full_ids?: readonly number[];
  readonly embedding?: readonly number[];
  readonly sparse?: GoldenSparse;
  readonly normalized?: string;
}

export interface Golden {
  readonly kind: "dense" | "sparse";
  readonly pooling: "mean" | "cls" | "last" | "splade";
  readonly dim: number;
  readonly cases: readonly GoldenCase[];
  readonly batches: readonly { readonly name: string; readonly cases: readonly number[] }[];
  readonly tokenizer_cases: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    readonly normalized?: string;
  }[];
}

export function fixtureFolder(model: string): string {
  return fileURLToPath(new URL(`../../../fixtures/models/${model}`, import.meta.url));
}

export async function readGolden(model: string): Promise<Golden> {
  return JSON.parse(await readFile(`${fixtureFolder(model)}/golden.json`, "utf8")) as Golden;
}

export async function fixtureTokenizer(model: string): Promise<Tokenizer> {
  const read = async (name: string): Promise<object> =>
    JSON.parse(await readFile(`${fixtureFolder(model)}/${name}`, "utf8")) as object;
  const tokenizer = new Tokenizer(await read("tokenizer.json"), await read("tokenizer_config.json"));
  useExactCharsmap(tokenizer);
  return tokenizer;
}

export class FixtureSession {
  readonly #session: InferenceSession;
  readonly #model: PreparedModel;

  private constructor(session: InferenceSession, model: PreparedModel) {
    this.#session = session;
    this.#model = model;
  }

  static async open(model: PreparedModel): Promise<FixtureSession> {
    const session = await InferenceSession.create(model.modelPath, { intraOpNumThreads: 1 });
    return new FixtureSession(session, model);
  }

  /** One vector per row of token ids. */
  async run(
    rows: readonly (readonly number[])[],
    paddingSide: "left" | "right" = "right",
  ): Promise<Float32Array[]> {
    const { inputs, output, padId } = this.#model;
    const feeds = batchFeeds(inputs, rows, { padId, paddingSide });
    const results = await this.#session.run(
      Object.fromEntries(feeds.map(({ name, type, data, dims }) => [name, new Tensor(type, data, dims)])),
      [output],
    );
    const pooled = results[output];
    if (!(pooled?.data instanceof Float32Array)) throw new Error(`no float32 output ${output}`);
    const { data } = pooled;
    const [count, width] = pooled.dims;
    if (count !== rows.length || width === undefined)
      throw new Error(`output of shape [${pooled.dims.join()}]`);
    return rows.map((_, row) => data.slice(row * width, (row + 1) * width));
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

/** Largest difference of a component; infinite for vectors of different lengths or with a NaN. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let largest = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs((a[i] ?? NaN) - (b[i] ?? NaN));
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Infinity : difference;
  }
  return largest;
}
