/** What a replica is started with and asked, and what it answers. */
import type { SparseVector } from "@sheaf/protocol";
import type { ModelInput } from "../graph/model-inputs.ts";

/** Start argument of a replica, as JSON. */
export interface ReplicaSpec {
  readonly modelPath: string;
  readonly inputs: readonly ModelInput[];
  /** Output with the pooled vectors, float32 [batch, width]. */
  readonly output: string;
  readonly padId: number;
  readonly sparse: boolean;
}

/** Method `run` of a replica: token ids of each text -> one vector each. */
export const RUN_METHOD = "run";
/** Event of a replica that could not load its model; the value is the reason. */
export const LOAD_FAILED_EVENT = "load_failed";

/** Dense, or the entries above 0 in index order. */
export type PooledVector = Float32Array | SparseVector;
