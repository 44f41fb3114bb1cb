/**
 * Bidirectional encoders: BERT (Devlin et al. 2019, https://arxiv.org/abs/1810.04805), DistilBERT and XLM-RoBERTa, which
 * differ only in tensor names and positions, and the masked-language-model head of the first two. Inference only:
 * token type 0, no dropout, padding on the right.
 */
import type { SheafError } from "@sheaf/protocol";
import { Layers, LOWEST_FLOAT } from "./layers.ts";
import { modelFileError } from "./model-file.ts";
import type { EncoderConfig } from "./model-config.ts";

interface LayerNames {
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly attentionOutput: string;
  readonly attentionNorm: string;
  readonly up: string;
  readonly down: string;
  readonly norm: string;
}

interface MaskedLmNames {
  readonly transform: string;
  readonly norm: string;
  readonly decoder: string;
  /** Where the output bias may be; the first that is there counts. */
  readonly biases: readonly string[];
}

const WORD_EMBEDDINGS = "embeddings.word_embeddings.weight";

const BERT_LAYER: LayerNames = {
  query: "attention.self.query",
  key: "attention.self.key",
  value: "attention.self.value",
  attentionOutput: "attention.output.dense",
  attentionNorm: "attention.output.LayerNorm",
  up: "intermediate.dense",
  down: "output.dense",
  norm: "output.LayerNorm",
};

const DISTILBERT_LAYER: LayerNames = {
  query: "attention.q_lin",
  key: "attention.k_lin",
  value: "attention.v_lin",
  attentionOutput: "attention.out_lin",
  attentionNorm: "sa_layer_norm",
  up: "ffn.lin1",
  down: "ffn.lin2",
  norm: "output_layer_norm",
};

const BERT_MASKED_LM: MaskedLmNames = {
  transform: "cls.predictions.transform.dense",
  norm: "cls.predictions.transform.LayerNorm",
  decoder: "cls.predictions.decoder.weight",
  biases: ["cls.predictions.bias", "cls.predictions.decoder.bias"],
};

const DISTILBERT_MASKED_LM: MaskedLmNames = {
  transform: "vocab_transform",
  norm: "vocab_layer_norm",
  decoder: "vocab_projector.weight",
  biases: ["vocab_projector.bias"],
};

/** What a checkpoint may put before the names of its encoder. */
const PREFIXES: { readonly [family in EncoderConfig["family"]]: readonly string[] } = {
  bert: ["", "bert."],
  distilbert: ["", "distilbert."],
  "xlm-roberta": ["", "roberta."],
};

export class EncoderBuilder {
  readonly #layers: Layers;
  readonly #config: EncoderConfig;
  readonly #prefix: string;
  readonly #source: string;

  /** `source` is the checkpoint's path, for messages. */
  constructor(layers: Layers, config: EncoderConfig, source: string) {
    this.#layers = layers;
    this.#config = config;
    this.#source = source;
    this.#prefix = layers.weights.findPrefix(PREFIXES[config.family], WORD_EMBEDDINGS);
  }

  /** Hidden states [batch, length, hidden]. */
  hiddenStates(): string {
    return this.#layers.unflatten(this.#encode(), this.#config.hiddenSize);
  }

  /** Masked-language-model logits [batch, length, vocabulary]. The output matrix is tied unless stored. */
  logits(): string {
    const layers = this.#layers;
    const { vocabSize, hiddenSize, family } = this.#config;
    if (family === "xlm-roberta") throw this.#error("a sparse head over XLM-RoBERTa is not supported");
    const names = family === "bert" ? BERT_MASKED_LM : DISTILBERT_MASKED_LM;
    const transformed = layers.linear(this.#encode(), names.transform, {
      inputs: hiddenSize,
      outputs: hiddenSize,
      bias: true,
    });
    const normed = this.#norm(this.#activate(transformed), names.norm);
    const decoder = layers.weights.has(names.decoder) ? names.decoder : this.#prefix + WORD_EMBEDDINGS;
    const bias = names.biases.find((name) => layers.weights.has(name));
    if (bias === undefined) throw this.#error(`tensor ${names.biases[0]} is missing`);
    const logits = layers.graph.node(
      "Gemm",
      [
        normed,
        layers.weights.tensor(decoder, [vocabSize, hiddenSize]),
        layers.weights.tensor(bias, [vocabSize]),
      ],
      { transB: 1 },
    );
    return layers.unflatten(logits, vocabSize);
  }

  /** [batch * length, hidden]. */
  #encode(): string {
    const { graph, batch } = this.#layers;
    const seen = graph.node("Reshape", [graph.cast(batch.mask, "float32"), graph.ints([0, 1, 1, -1])]);
    const hidden = graph.node("Sub", [graph.float(1), seen]);
    const scoreMask = graph.node("Mul", [hidden, graph.float(LOWEST_FLOAT)]);
    let x = this.#embed();
    for (let layer = 0; layer < this.#config.layers; layer++) x = this.#layer(x, layer, scoreMask);
    return x;
  }

  #embed(): string {
    const { graph, weights, batch } = this.#layers;
    const { family, vocabSize, hiddenSize, maxPositions, tokenTypes } = this.#config;
    const table = (name: string): string => `${this.#prefix}embeddings.${name}`;
    const words = weights.rows(table("word_embeddings.weight"), [vocabSize, hiddenSize], batch.ids);
    const positions = family === "xlm-roberta" ? this.#positionsAfterPad() : batch.positions;
    const places = weights.rows(table("position_embeddings.weight"), [maxPositions, hiddenSize], positions);
    let sum = graph.node("Add", [words, places]);
    if (tokenTypes > 0) {
      const types = table("token_type_embeddings.weight");
      sum = graph.node("Add", [sum, weights.rows(types, [tokenTypes, hiddenSize], graph.int(0))]);
    }
    return this.#layers.flatten(this.#norm(sum, table("LayerNorm")), hiddenSize);
  }

  /** RoBERTa counts real tokens from the pad id plus one and leaves padding at the pad id. */
  #positionsAfterPad(): string {
    const { graph, batch } = this.#layers;
    const padId = graph.int(this.#config.padId);
    const isPad = graph.node("Equal", [batch.ids, padId]);
    const real = graph.node("Where", [isPad, graph.int(0), graph.int(1)]);
    const counted = graph.node("Mul", [graph.node("CumSum", [real, graph.int(1)]), real]);
    return graph.node("Add", [counted, padId]);
  }

  #layer(x: string, layer: number, scoreMask: string): string {
    const layers = this.#layers;
    const { family, hiddenSize, feedForwardSize } = this.#config;
    const names = family === "distilbert" ? DISTILBERT_LAYER : BERT_LAYER;
    const stem = `${this.#prefix}${family === "distilbert" ? "transformer" : "encoder"}.layer.${layer}.`;
    const linear = (input: string, name: string, inputs: number, outputs: number): string =>
      layers.linear(input, stem + name, { inputs, outputs, bias: true });

    const project = (name: string): string => linear(x, name, hiddenSize, hiddenSize);
    const context = this.#attend(
      { query: project(names.query), key: project(names.key), value: project(names.value) },
      scoreMask,
    );
    const attended = linear(context, names.attentionOutput, hiddenSize, hiddenSize);
    const middle = this.#norm(layers.graph.node("Add", [attended, x]), stem + names.attentionNorm);
    const wide = this.#activate(linear(middle, names.up, hiddenSize, feedForwardSize));
    const narrow = linear(wide, names.down, feedForwardSize, hiddenSize);
    return this.#norm(layers.graph.node("Add", [narrow, middle]), stem + names.norm);
  }

  /** Scaled dot-product attention over all real tokens; operands and result are [batch * length, hidden]. */
  #attend(operands: { query: string; key: string; value: string }, scoreMask: string): string {
    const layers = this.#layers;
    const { graph } = layers;
    const { heads, hiddenSize } = this.#config;
    const size = hiddenSize / heads;
    const scaled = graph.node("Mul", [operands.query, graph.float(1 / Math.sqrt(size))]);
    const query = layers.transpose(layers.splitHeads(scaled, heads, size), [0, 2, 1, 3]);
    const key = layers.transpose(layers.splitHeads(operands.key, heads, size), [0, 2, 3, 1]);
    const value = layers.transpose(layers.splitHeads(operands.value, heads, size), [0, 2, 1, 3]);
    const scores = graph.node("Add", [graph.node("MatMul", [query, key]), scoreMask]);
    const shares = graph.node("Softmax", [scores], { axis: -1 });
    const context = layers.transpose(graph.node("MatMul", [shares, value]), [0, 2, 1, 3]);
    return layers.flatten(context, hiddenSize);
  }

  #activate(x: string): string {
    const { graph } = this.#layers;
    const { activation } = this.#config;
    if (activation === "relu") return graph.node("Relu", [x]);
    return graph.node("Gelu", [x], { approximate: activation === "gelu_tanh" ? "tanh" : "none" });
  }

  #norm(x: string, name: string): string {
    const { hiddenSize, layerNormEpsilon } = this.#config;
    return this.#layers.layerNorm(x, name, { width: hiddenSize, epsilon: layerNormEpsilon });
  }

  #error(problem: string): SheafError {
    return modelFileError(this.#source, problem);
  }
}
