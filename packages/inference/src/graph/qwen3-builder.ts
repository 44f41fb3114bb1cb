/**
 * Qwen3 decoder as an encoder of texts (https://arxiv.org/abs/2505.09388): RMS norm before each block, grouped-query
 * attention with normalised queries and keys, rotary positions, SwiGLU. The causal mask is always applied, and positions
 * count from each text's first real token, so that padding on either side changes nothing.
 */
import { Layers, LOWEST_FLOAT } from "./layers.ts";
import type { Qwen3Config } from "./model-config.ts";

const EMBEDDINGS = "embed_tokens.weight";
/** Checkpoints saved from the causal-language-model class carry the second one. */
const PREFIXES = ["", "model."];

/** Cosines and sines of the rotary angles, float32 [batch, length, 1, headSize]. */
interface Rotation {
  readonly cosines: string;
  readonly sines: string;
}

export class Qwen3Builder {
  readonly #layers: Layers;
  readonly #config: Qwen3Config;
  readonly #prefix: string;

  constructor(layers: Layers, config: Qwen3Config) {
    this.#layers = layers;
    this.#config = config;
    this.#prefix = layers.weights.findPrefix(PREFIXES, EMBEDDINGS);
  }

  /** Hidden states [batch, length, hidden]. */
  hiddenStates(): string {
    const layers = this.#layers;
    const { vocabSize, hiddenSize, layers: layerCount } = this.#config;
    const embedded = layers.weights.rows(
      this.#prefix + EMBEDDINGS,
      [vocabSize, hiddenSize],
      layers.batch.ids,
    );
    const rotation = this.#rotation();
    const scoreMask = this.#scoreMask();
    let x = layers.flatten(embedded, hiddenSize);
    for (let layer = 0; layer < layerCount; layer++) {
      const stem = `${this.#prefix}layers.${layer}.`;
      const attended = this.#attend(this.#norm(x, `${stem}input_layernorm`), stem, { rotation, scoreMask });
      x = layers.graph.node("Add", [x, attended]);
      const fed = this.#feedForward(this.#norm(x, `${stem}post_attention_layernorm`), `${stem}mlp.`);
      x = layers.graph.node("Add", [x, fed]);
    }
    return layers.unflatten(this.#norm(x, `${this.#prefix}norm`), hiddenSize);
  }

  /** Rotary angles in float32, as the reference implementation computes them. */
  #rotation(): Rotation {
    const { graph, batch } = this.#layers;
    const { headSize, ropeTheta } = this.#config;
    const counted = graph.node("CumSum", [batch.mask, graph.int(1)]);
    const positions = graph.node("Max", [graph.node("Sub", [counted, graph.int(1)]), graph.int(0)]);
    const frequencies = Array.from({ length: headSize / 2 }, (_, i) =>
      Math.fround(1 / Math.fround(ropeTheta ** Math.fround((2 * i) / headSize))),
    );
    const column = graph.node("Reshape", [graph.cast(positions, "float32"), graph.ints([0, -1, 1, 1])]);
    const half = graph.node("Mul", [column, graph.floats(frequencies)]);
    const angles = graph.node("Concat", [half, half], { axis: -1 });
    return { cosines: graph.node("Cos", [angles]), sines: graph.node("Sin", [angles]) };
  }

  /**
   * float32 [batch, 1, group * length, length]: 0 where a token may look, the lowest number where it may not; once for
   * each query head of a group, as `#attend` stacks them.
   */
  #scoreMask(): string {
    const { graph, batch } = this.#layers;
    const { heads, keyValueHeads } = this.#config;
    const row = graph.node("Reshape", [batch.positions, graph.ints([-1, 1])]);
    const causal = graph.node("LessOrEqual", [batch.positions, row]);
    const real = graph.node("Greater", [batch.mask, graph.int(0)]);
    const keys = graph.node("Reshape", [real, graph.ints([0, 1, 1, -1])]);
    const allowed = graph.node("And", [causal, keys]);
    const mask = graph.node("Where", [allowed, graph.float(0), graph.float(LOWEST_FLOAT)]);
    return graph.node("Concat", Array<string>(heads / keyValueHeads).fill(mask), { axis: 2 });
  }

  /**
   * Attention of a layer, [batch * length, hidden] to the same. Queries that share a key head are stacked along the
   * length axis, so that keys and values are never repeated. Key heads are taken one after the other, so that the scores
   * of only one are held: at 8,192 tokens 0.5 GB for two queries to a key, where all 16 query heads would need 4.3 GB.
   */
  #attend(x: string, stem: string, shared: { rotation: Rotation; scoreMask: string }): string {
    const layers = this.#layers;
    const { graph } = layers;
    const { hiddenSize, heads, keyValueHeads, headSize } = this.#config;
    const project = (name: string, count: number): string => {
      const shape = { inputs: hiddenSize, outputs: count * headSize, bias: false };
      return layers.splitHeads(layers.linear(x, `${stem}self_attn.${name}_proj`, shape), count, headSize);
    };
    const rotated = (name: "q" | "k", count: number): string => {
      const normed = this.#norm(project(name, count), `${stem}self_attn.${name}_norm`, headSize);
      return this.#rotate(normed, shared.rotation);
    };

    const scaled = graph.node("Mul", [rotated("q", heads), graph.float(1 / Math.sqrt(headSize))]);
    const query = graph.node("Reshape", [
      layers.transpose(scaled, [0, 2, 1, 3]),
      graph.ints([0, keyValueHeads, -1, headSize]),
    ]);
    const key = layers.transpose(rotated("k", keyValueHeads), [0, 2, 3, 1]);
    const value = layers.transpose(project("v", keyValueHeads), [0, 2, 1, 3]);

    const contexts = Array.from({ length: keyValueHeads }, (_, head) => {
      const of = (operand: string): string =>
        graph.node("Gather", [operand, graph.ints([head])], { axis: 1 });
      const scores = graph.node("Add", [graph.node("MatMul", [of(query), of(key)]), shared.scoreMask]);
      const shares = graph.node("Softmax", [scores], { axis: -1 });
      return graph.node("MatMul", [shares, of(value)]);
    });
    const context = graph.node("Reshape", [
      graph.node("Concat", contexts, { axis: 1 }),
      graph.ints([0, heads, -1, headSize]),
    ]);
    const joined = layers.flatten(layers.transpose(context, [0, 2, 1, 3]), heads * headSize);
    return layers.linear(joined, `${stem}self_attn.o_proj`, {
      inputs: heads * headSize,
      outputs: hiddenSize,
      bias: false,
    });
  }

  /** x * cos + (-second half, first half) * sin, on [batch, length, heads, headSize]. */
  #rotate(x: string, { cosines, sines }: Rotation): string {
    const { graph } = this.#layers;
    const half = this.#config.headSize / 2;
    const part = (from: number, to: number): string =>
      graph.node("Slice", [x, graph.ints([from]), graph.ints([to]), graph.ints([-1])]);
    const turned = graph.node("Concat", [graph.node("Neg", [part(half, 2 * half)]), part(0, half)], {
      axis: -1,
    });
    return graph.node("Add", [graph.node("Mul", [x, cosines]), graph.node("Mul", [turned, sines])]);
  }

  #feedForward(x: string, stem: string): string {
    const layers = this.#layers;
    const { graph } = layers;
    const { hiddenSize, feedForwardSize } = this.#config;
    const widen = { inputs: hiddenSize, outputs: feedForwardSize, bias: false };
    const gate = layers.linear(x, `${stem}gate_proj`, widen);
    const silu = graph.node("Mul", [gate, graph.node("Sigmoid", [gate])]);
    const gated = graph.node("Mul", [silu, layers.linear(x, `${stem}up_proj`, widen)]);
    return layers.linear(gated, `${stem}down_proj`, {
      inputs: feedForwardSize,
      outputs: hiddenSize,
      bias: false,
    });
  }

  #norm(x: string, name: string, width = this.#config.hiddenSize): string {
    return this.#layers.rmsNorm(x, name, { width, epsilon: this.#config.rmsNormEpsilon });
  }
}
