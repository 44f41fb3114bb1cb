/**
 * Where the time of a request goes: reading its body, each call of the engine and of a model, and what the engine says
 * of the calls it was part of. The request is found by the flow of its promises, so that nothing has to be handed down.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { CallReport } from "@sheaf/engine";
import { aroundCalls } from "../services/around-calls.ts";

/** Stage -> milliseconds, summed up over its calls. */
export type Stages = Map<string, number>;

const MS_PER_SECOND = 1_000;

export class StageClock {
  readonly #request = new AsyncLocalStorage<Stages>();
  readonly #onStage: (stage: string, seconds: number) => void;

  /** @param onStage Told of every stage when it ends, however it does. */
  constructor(onStage: (stage: string, seconds: number) => void) {
    this.#onStage = onStage;
  }

  /** Everything that `work` begins belongs to the request. */
  during(stages: Stages, work: () => void): void {
    this.#request.run(stages, work);
  }

  /** The target with each asynchronous method, named `<prefix>.<method>`, as a stage. */
  timed<T extends object>(prefix: string, target: T): T {
    return aroundCalls(target, (method, call) => {
      const startedAt = performance.now();
      const outcome = call();
      if (outcome instanceof Promise) {
        const end = (): void => this.#current(`${prefix}.${method}`, performance.now() - startedAt);
        outcome.then(end, end);
      }
      return outcome;
    });
  }

  /** Reading the body of the request, which holds the thread. */
  reading<T>(read: () => T): T {
    const startedAt = performance.now();
    try {
      return read();
    } finally {
      this.#current("parse", performance.now() - startedAt);
    }
  }

  /** What the engine did inside one of its calls. */
  report(stages: Stages, report: CallReport): void {
    for (const [stage, milliseconds] of Object.entries(report.stages)) {
      this.#end(stages, `engine.stage.${stage}`, milliseconds);
    }
  }

  #current(stage: string, milliseconds: number): void {
    this.#end(this.#request.getStore(), stage, milliseconds);
  }

  #end(stages: Stages | undefined, stage: string, milliseconds: number): void {
    this.#onStage(stage, milliseconds / MS_PER_SECOND);
    stages?.set(stage, (stages.get(stage) ?? 0) + milliseconds);
  }
}
