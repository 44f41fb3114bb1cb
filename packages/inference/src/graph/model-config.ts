/**
 * `config.json` of a Hugging Face model, parsed into the numbers a graph needs. Refuses what the builders do not
 * compute (another activation, scaled RoPE, sliding windows) instead of giving slightly wrong vectors.
 */
import type { SheafError } from "@sheaf/protocol";
import { isObject, modelFileError } from "./model-file.ts";
import type { Head } from "./pooling-head.ts";

/** BERT, DistilBERT and XLM-RoBERTa: the same encoder with other tensor names and positions. */
export interface EncoderConfig {
  readonly family: "bert" | "distilbert" | "xlm-roberta";
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly feedForwardSize: number;
  readonly maxPositions: number;
  readonly tokenTypes: number;
  readonly layerNormEpsilon: number;
  readonly activation: "gelu" | "gelu_tanh" | "relu";
  readonly padId: number;
}

export interface Qwen3Config {
  readonly family: "qwen3";
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly feedForwardSize: number;
  readonly rmsNormEpsilon: number;
  readonly ropeTheta: number;
  readonly padId: number;
}

export type ModelConfig = EncoderConfig | Qwen3Config;

const ACTIVATIONS: ReadonlyMap<string, EncoderConfig["activation"]> = new Map([
  ["gelu", "gelu"],
  ["gelu_new", "gelu_tanh"],
  ["gelu_pytorch_tanh", "gelu_tanh"],
  ["relu", "relu"],
]);

/** DistilBERT's `config.json` has no epsilon; its code has this one. */
const DISTILBERT_EPSILON = 1e-12;

/** Throws 503 `model_unavailable` naming `file` for what is missing or not supported. */
export function parseModelConfig(file: string, json: Readonly<Record<string, unknown>>): ModelConfig {
  const fields = new ConfigFields(file, json);
  const family = fields.string("model_type");
  switch (family) {
    case "bert":
    case "xlm-roberta":
      return parseBert(fields, family);
    case "distilbert":
      return parseDistilBert(fields);
    case "qwen3":
      return parseQwen3(fields);
    default:
      throw fields.error(
        `model_type ${JSON.stringify(family)} is not supported; use a model with an ONNX file`,
      );
  }
}

/** The id that pads a batch; any will do for a model that names none, because the attention mask hides it. */
export function parsePadId(json: Readonly<Record<string, unknown>>): number {
  const padId = json["pad_token_id"];
  return Number.isSafeInteger(padId) && Number(padId) >= 0 ? Number(padId) : 0;
}

/** Width of a pooled vector for a graph whose file leaves it open. */
export function parseWidth(json: Readonly<Record<string, unknown>>, head: Head): number | null {
  const width = head === "splade" ? json["vocab_size"] : (json["hidden_size"] ?? json["dim"]);
  return Number.isSafeInteger(width) && Number(width) > 0 ? Number(width) : null;
}

function parseBert(fields: ConfigFields, family: "bert" | "xlm-roberta"): EncoderConfig {
  fields.only("position_embedding_type", "absolute");
  return {
    family,
    vocabSize: fields.count("vocab_size"),
    hiddenSize: fields.count("hidden_size"),
    layers: fields.count("num_hidden_layers"),
    heads: fields.divisor("num_attention_heads", "hidden_size"),
    feedForwardSize: fields.count("intermediate_size"),
    maxPositions: fields.count("max_position_embeddings"),
    tokenTypes: fields.count("type_vocab_size"),
    layerNormEpsilon: fields.positive("layer_norm_eps"),
    activation: fields.activation("hidden_act"),
    padId: fields.padId({ required: family === "xlm-roberta" }),
  };
}

function parseDistilBert(fields: ConfigFields): EncoderConfig {
  return {
    family: "distilbert",
    vocabSize: fields.count("vocab_size"),
    hiddenSize: fields.count("dim"),
    layers: fields.count("n_layers"),
    heads: fields.divisor("n_heads", "dim"),
    feedForwardSize: fields.count("hidden_dim"),
    maxPositions: fields.count("max_position_embeddings"),
    tokenTypes: 0,
    layerNormEpsilon: DISTILBERT_EPSILON,
    activation: fields.activation("activation"),
    padId: fields.padId({ required: false }),
  };
}

function parseQwen3(fields: ConfigFields): Qwen3Config {
  fields.only("hidden_act", "silu");
  fields.only("rope_scaling", null);
  fields.only("use_sliding_window", false);
  fields.only("attention_bias", false);
  // transformers 5 nests what transformers 4 writes beside the other keys.
  const rope = fields.nested("rope_parameters");
  rope?.only("rope_type", "default");
  const headSize = fields.count("head_dim");
  if (headSize % 2 !== 0) throw fields.error("head_dim is odd");
  return {
    family: "qwen3",
    vocabSize: fields.count("vocab_size"),
    hiddenSize: fields.count("hidden_size"),
    layers: fields.count("num_hidden_layers"),
    heads: fields.count("num_attention_heads"),
    keyValueHeads: fields.divisor("num_key_value_heads", "num_attention_heads"),
    headSize,
    feedForwardSize: fields.count("intermediate_size"),
    rmsNormEpsilon: fields.positive("rms_norm_eps"),
    ropeTheta: (rope ?? fields).positive("rope_theta"),
    padId: fields.padId({ required: false }),
  };
}

class ConfigFields {
  readonly #file: string;
  readonly #json: Readonly<Record<string, unknown>>;

  constructor(file: string, json: Readonly<Record<string, unknown>>) {
    this.#file = file;
    this.#json = json;
  }

  error(problem: string): SheafError {
    return modelFileError(this.#file, problem);
  }

  string(key: string): string {
    const value = this.#json[key];
    if (typeof value !== "string") throw this.error(`${key} is missing`);
    return value;
  }

  /** A positive integer. */
  count(key: string): number {
    const value = this.positive(key);
    if (!Number.isSafeInteger(value)) throw this.error(`${key} is not an integer`);
    return value;
  }

  positive(key: string): number {
    const value = this.#json[key];
    if (typeof value !== "number" || !(value > 0)) throw this.error(`${key} is not a positive number`);
    return value;
  }

  /** A positive integer that divides the one of `dividend`. */
  divisor(key: string, dividend: string): number {
    const value = this.count(key);
    if (this.count(dividend) % value !== 0) throw this.error(`${dividend} is no multiple of ${key}`);
    return value;
  }

  activation(key: string): EncoderConfig["activation"] {
    const name = this.string(key);
    const activation = ACTIVATIONS.get(name);
    if (activation === undefined) throw this.error(`${key} ${JSON.stringify(name)} is not supported`);
    return activation;
  }

  /** Refuses any other value; an absent key has the supported one. */
  only(key: string, supported: string | boolean | null): void {
    const value = this.#json[key];
    if (value !== undefined && value !== supported) {
      throw this.error(`${key} ${JSON.stringify(value)} is not supported`);
    }
  }

  nested(key: string): ConfigFields | null {
    const value = this.#json[key];
    return isObject(value) ? new ConfigFields(this.#file, value) : null;
  }

  padId({ required }: { readonly required: boolean }): number {
    if (required && !Number.isSafeInteger(this.#json["pad_token_id"])) {
      throw this.error("pad_token_id is missing");
    }
    return parsePadId(this.#json);
  }
}
