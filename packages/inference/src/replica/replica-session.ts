/** A loaded model: token ids of a batch in, pooled vectors out. Padding happens here and nowhere else. */
import assert from "node:assert/strict";
import { LIMITS, type SparseVector } from "@sheaf/protocol";
import { batchFeeds } from "../graph/model-inputs.ts";
import { keepLargest } from "../keep-largest.ts";
import { InferenceSession, Tensor } from "./onnx-runtime.ts";
import type { PooledVector, ReplicaSpec } from "./replica-messages.ts";

export class ReplicaSession {
  readonly #spec: ReplicaSpec;
  readonly #session: InferenceSession;

  private constructor(spec: ReplicaSpec, session: InferenceSession) {
    this.#spec = spec;
    this.#session = session;
  }

  static async open(spec: ReplicaSpec): Promise<ReplicaSession> {
    // Several processes of one thread beat one process of several threads, and idle spinning takes time from the others.
    const session = await InferenceSession.create(spec.modelPath, {
      executionProviders: ["cpu"],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      extra: { session: { intra_op: { allow_spinning: "0" } } },
    });
    return new ReplicaSession(spec, session);
  }

  /** One vector per text, in order. */
  async run(texts: readonly Int32Array[]): Promise<readonly PooledVector[]> {
    const { inputs, output, padId, sparse } = this.#spec;
    const feeds = batchFeeds(inputs, texts, { padId });
    const tensors = feeds.map(({ name, type, data, dims }) => [name, new Tensor(type, data, dims)] as const);
    const results = await this.#session.run(Object.fromEntries(tensors), [output]);
    const pooled = results[output];
    assert(pooled?.data instanceof Float32Array, "the pooled output is float32");
    assert(pooled.dims[0] === texts.length, "the pooled output has one row per text");
    const width = pooled.data.length / texts.length;
    const { data } = pooled;
    return texts.map((_, row) => {
      const values = data.subarray(row * width, (row + 1) * width);
      return sparse ? positiveEntries(values) : values.slice();
    });
  }
}

function positiveEntries(row: Float32Array): SparseVector {
  const indices: number[] = [];
  const values: number[] = [];
  for (const [index, value] of row.entries()) {
    if (value > 0) {
      indices.push(index);
      values.push(value);
    }
  }
  const vector = { indices: Uint32Array.from(indices), values: Float32Array.from(values) };
  return keepLargest(vector, LIMITS.sparseNonZeros);
}
