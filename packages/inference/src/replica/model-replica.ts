/**
 * The parent's side of one model replica. A batch waits while the model loads; a replica that dies costs the batch it
 * held a 503 and is started again; one that does not answer is killed.
 */
import { ChildSupervisor, siblingModule } from "@sheaf/process";
import type { BatchRunner } from "../scheduler/scheduler.ts";
import { LOAD_FAILED_EVENT, type PooledVector, type ReplicaSpec, RUN_METHOD } from "./replica-messages.ts";

const REPLICA_MODULE = siblingModule(import.meta.url, "./replica-process");
/** Without it, ONNX Runtime makes a device identifier in the user's home folder and sends events to Microsoft. */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: "1" };
/** A process that dies this often while it loads is given up for the batch that waits. */
const LOAD_ATTEMPTS = 3;
/** Reading gigabytes from a slow disk is no hang. */
const LOAD_DEADLINE_MS = 600_000;
/** A run that takes this many times what its tokens took so far hangs. */
const HANG_FACTOR = 20;
/** Speed assumed before the first run: slower than any model on any machine Sheaf runs on. */
const UNMEASURED_TOKENS_PER_SECOND = 20;

export const DEFAULT_HANG_AFTER_MS = 30_000;

export interface ModelReplicaOptions {
  /** Model identifier, for messages. */
  readonly name: string;
  readonly spec: ReplicaSpec;
  /** No run is taken for hung before this, whatever its size. */
  readonly hangAfterMs: number;
  /** One line for the log. */
  readonly onEvent: (message: string) => void;
  /** Told of every unexpected end of the process, by model. */
  readonly onReplicaDeath?: ((model: string) => void) | undefined;
  /** Called once, after the first load and before the first batch; what it runs goes before all batches. */
  readonly onFirstLoad?: (run: (batch: readonly Int32Array[]) => Promise<unknown>) => Promise<void>;
}

export class ModelReplica implements BatchRunner<PooledVector> {
  readonly #options: ModelReplicaOptions;
  readonly #supervisor: ChildSupervisor;
  #tokensPerSecond = 0;
  #loadedBefore = false;

  constructor(options: ModelReplicaOptions) {
    this.#options = options;
    this.#supervisor = new ChildSupervisor({
      name: `model replica of ${options.name}`,
      module: REPLICA_MODULE,
      spawnOptions: () => ({ args: [JSON.stringify(options.spec)], env: NO_TELEMETRY }),
      onEvent: (name, value) => this.#onEvent(name, value),
      onDeath: ({ code, signal }) => {
        options.onReplicaDeath?.(options.name);
        options.onEvent(
          `a model replica of ${options.name} ended (${signal ?? `exit ${code}`}); starting another`,
        );
      },
    });
  }

  get ready(): boolean {
    return this.#supervisor.ready;
  }

  /** Process id while a process runs. */
  get pid(): number | undefined {
    return this.#supervisor.pid;
  }

  async run(batch: readonly Int32Array[]): Promise<readonly PooledVector[]> {
    await this.#load();
    if (!this.#loadedBefore) await this.#afterFirstLoad();
    return this.#runLoaded(batch);
  }

  async #runLoaded(batch: readonly Int32Array[]): Promise<readonly PooledVector[]> {
    const longest = batch.reduce((max, ids) => Math.max(max, ids.length), 0);
    const tokens = longest * batch.length;
    const startedAt = performance.now();
    const call = this.#supervisor.call(RUN_METHOD, [batch]);
    const result = await this.#orKill(call, this.#runDeadlineMs(tokens));
    const rate = (tokens * 1_000) / Math.max(performance.now() - startedAt, 0.1);
    // The slowest run counts: a deadline must not tighten because short texts are quick.
    this.#tokensPerSecond = this.#tokensPerSecond === 0 ? rate : Math.min(rate, this.#tokensPerSecond);
    return result as readonly PooledVector[];
  }

  close(): Promise<void> {
    return this.#supervisor.close();
  }

  /** A process that dies here has said so already; the batch that waits starts another. */
  async #afterFirstLoad(): Promise<void> {
    this.#loadedBefore = true;
    try {
      await this.#options.onFirstLoad?.((batch) => this.#runLoaded(batch));
    } catch (error) {
      this.#onEvent("unexpected", `calibration ended: ${String(error)}`);
    }
    await this.#load();
  }

  async #load(): Promise<void> {
    for (let attempt = 1; !this.#supervisor.ready; attempt++) {
      try {
        await this.#orKill(this.#supervisor.start(), LOAD_DEADLINE_MS);
      } catch (error) {
        if (attempt === LOAD_ATTEMPTS) throw error;
      }
    }
  }

  #runDeadlineMs(tokens: number): number {
    const rate = this.#tokensPerSecond === 0 ? UNMEASURED_TOKENS_PER_SECOND : this.#tokensPerSecond;
    const factor = this.#tokensPerSecond === 0 ? 1 : HANG_FACTOR;
    return Math.max(this.#options.hangAfterMs, (factor * tokens * 1_000) / rate);
  }

  /** `work`, whose process is killed if it is not done in time; the death then rejects it. */
  async #orKill<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
    const timer = setTimeout(() => {
      this.#options.onEvent(`a model replica of ${this.#options.name} hangs; killing it`);
      this.#supervisor.kill();
    }, deadlineMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  #onEvent(name: string, value: unknown): void {
    if (name === LOAD_FAILED_EVENT) {
      this.#options.onEvent(`the model ${this.#options.name} cannot be loaded: ${String(value)}`);
    } else if (name === "unexpected") {
      this.#options.onEvent(`a model replica of ${this.#options.name} failed: ${String(value)}`);
    }
  }
}
