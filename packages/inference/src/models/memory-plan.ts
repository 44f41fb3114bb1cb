/**
 * How many replicas of a model run and how long a text may be, so that all of it stays within the memory budget. The
 * model's own limit goes before the number of replicas: only where a single one cannot hold its longest text is the
 * limit lowered.
 */
import { activationBytes } from "./model-size.ts";
import type { ModelFolder } from "./model-folder.ts";

export interface MemoryOptions {
  /** For the model alone, in bytes. */
  readonly budgetBytes: number;
  /** Replicas wanted. */
  readonly replicas: number;
  /** Padded tokens of one batch. */
  readonly batchTokens: number;
}

export interface MemoryPlan {
  readonly replicas: number;
  /** The token limit in force. */
  readonly maxTokens: number;
  /** Peak of one replica. */
  readonly replicaBytes: number;
  /** Whether the budget and not the model sets the limit. */
  readonly limitedByMemory: boolean;
  /** Whether not even one replica with the shortest useful limit fits. */
  readonly tooLarge: boolean;
}

type SizedFolder = Pick<ModelFolder, "maxTokens" | "weightBytes" | "shape">;

/** Node, ONNX Runtime and their buffers in a replica's process. */
const PROCESS_BYTES = 128 * 1024 * 1024;
/** A model that cannot take this many tokens is of no use. */
const USEFUL_TOKENS = 128;

export function planMemory(folder: SizedFolder, options: MemoryOptions): MemoryPlan {
  const { budgetBytes, batchTokens } = options;
  const own = folder.maxTokens;
  const needed = (maxTokens: number): number => replicaPeakBytes(folder, { maxTokens, batchTokens });
  const plan = (replicas: number, maxTokens: number): MemoryPlan => {
    const replicaBytes = needed(maxTokens);
    const limitedByMemory = maxTokens < own;
    return { replicas, maxTokens, replicaBytes, limitedByMemory, tooLarge: replicaBytes > budgetBytes };
  };
  const fitting = Math.floor(budgetBytes / needed(own));
  if (fitting >= 1) return plan(Math.min(options.replicas, fitting), own);
  return plan(
    1,
    longestFitting(Math.min(own, USEFUL_TOKENS), own, (length) => needed(length) <= budgetBytes),
  );
}

/** What one replica takes at most where texts have up to `maxTokens` tokens. */
export function replicaPeakBytes(
  { weightBytes, shape }: SizedFolder,
  { maxTokens, batchTokens }: { readonly maxTokens: number; readonly batchTokens: number },
): number {
  if (shape === null) return PROCESS_BYTES + weightBytes;
  const packed = Math.min(maxTokens, batchTokens);
  const pack = activationBytes(shape, Math.ceil(batchTokens / packed), packed);
  return PROCESS_BYTES + weightBytes + Math.max(pack, activationBytes(shape, 1, maxTokens));
}

/** The largest length from `low` up to, but without, `high` that fits; `low` if none does. */
function longestFitting(low: number, high: number, fits: (length: number) => boolean): number {
  let known = low;
  let tooLong = high;
  while (tooLong - known > 1) {
    const middle = Math.floor((known + tooLong) / 2);
    if (fits(middle)) known = middle;
    else tooLong = middle;
  }
  return known;
}
