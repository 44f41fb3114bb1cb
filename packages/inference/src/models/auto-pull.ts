/**
 * Fetches absent models in the background. A request does not wait: gigabytes take longer than it may last, so it gets a
 * 503 with the progress and is right again once the weights are here.
 */
import { SheafError } from "@sheaf/protocol";
import type { ModelPull } from "../embedder.ts";
import type { ModelStore } from "./model-store.ts";

const RETRY_AFTER_SECONDS = 5;
/** A pull that failed is not begun again at every request. */
const COOLDOWN_MS = 30_000;

export interface AutoPullOptions {
  readonly store: Pick<ModelStore, "pull">;
  /** One line for the log. */
  readonly onEvent: (message: string) => void;
}

type State =
  | { readonly type: "pulling"; receivedBytes: number; totalBytes: number }
  | { readonly type: "failed"; readonly atMs: number };

export class AutoPull {
  readonly #options: AutoPullOptions;
  readonly #states = new Map<string, State>();
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(options: AutoPullOptions) {
    this.#options = options;
  }

  /** `null`: it was not asked for, or it is here. */
  progress(identifier: string): ModelPull | null {
    const state = this.#states.get(identifier);
    if (state === undefined) return null;
    if (state.type === "failed") return { state: "failed" };
    const { receivedBytes, totalBytes } = state;
    return { state: "pulling", receivedBytes, totalBytes };
  }

  /** Begins a pull unless one is under way; one that failed is begun again at once. */
  begin(identifier: string): void {
    if (this.#states.get(identifier)?.type !== "pulling") this.#begin(identifier);
  }

  /** Begins a pull unless one is under way, and gives the 503 for whoever asked. */
  refusal(identifier: string): SheafError {
    const state = this.#states.get(identifier);
    if (state?.type === "failed" && performance.now() - state.atMs < COOLDOWN_MS) {
      // The reason names addresses, tokens and folders: it is in the log.
      return unavailable(`the model ${identifier} could not be fetched; the log of the server says why`);
    }
    const pulling = state?.type === "pulling" ? state : this.#begin(identifier);
    const mebibytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20));
    const { receivedBytes, totalBytes } = pulling;
    const progress =
      totalBytes === 0 ? "" : ` (${mebibytes(receivedBytes)} of ${mebibytes(totalBytes)} MiB are here)`;
    return unavailable(`the model ${identifier} is being fetched${progress}; try again`);
  }

  async close(): Promise<void> {
    this.#abort.abort(new SheafError("unavailable", "the embedder is shutting down"));
    await Promise.all(this.#running);
  }

  #begin(identifier: string): State & { readonly type: "pulling" } {
    const state = { type: "pulling" as const, receivedBytes: 0, totalBytes: 0 };
    this.#states.set(identifier, state);
    const run = this.#pull(identifier, state).finally(() => this.#running.delete(run));
    this.#running.add(run);
    return state;
  }

  async #pull(identifier: string, state: State & { readonly type: "pulling" }): Promise<void> {
    const { store, onEvent } = this.#options;
    onEvent(`fetching the model ${identifier}`);
    try {
      const { totalBytes } = await store.pull(identifier, {
        signal: this.#abort.signal,
        onProgress: (progress) => Object.assign(state, progress),
      });
      this.#states.delete(identifier);
      onEvent(`fetched the model ${identifier}, ${totalBytes} bytes`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#states.set(identifier, { type: "failed", atMs: performance.now() });
      onEvent(`the model ${identifier} could not be fetched: ${reason}`);
    }
  }
}

function unavailable(message: string): SheafError {
  return new SheafError("model_unavailable", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
