/** The batching policies that are compared. */
import type { BatchPolicy } from "@sheaf/inference";

export const POLICY_NAMES = ["packed", "fifo-8"] as const;
export type PolicyName = (typeof POLICY_NAMES)[number];

/** Batch bound of the ONNX backend of text-embeddings-inference (`backends/ort/src/lib.rs`). */
const FIFO_TEXTS = 8;

/**
 * The oldest texts in order of arrival. The token budget of text-embeddings-inference (16,384 padded tokens) never
 * binds at eight texts of at most 256.
 */
export const fifoEight: BatchPolicy = (queue) =>
  Array.from({ length: Math.min(queue.length, FIFO_TEXTS) }, (_, position) => position);
