/** What the benchmark and the server processes that it starts tell each other, over the IPC channel of `fork`. */
import type { BatchReport, EmbedderOptions } from "@sheaf/inference";
import type { PolicyName } from "./batch-policies.ts";

/** Start argument of the gateway, as JSON. */
export interface GatewayOptions extends Pick<EmbedderOptions, "memoryBytes" | "models"> {
  readonly policy: PolicyName;
}

/** Sent once, when the server answers. */
export interface Listening {
  readonly type: "listening";
  readonly url: string;
}

/** Asks for a `GatewayReport`; the counting starts anew. */
export const REPORT_REQUEST = "report";

export interface GatewayReport {
  readonly type: "report";
  /** Micro-batches since the last report. */
  readonly batches: readonly BatchReport[];
  /** What the embedder had to say since the last report. */
  readonly events: readonly string[];
  /** How much later than planned a timer of the gateway fired. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
}
