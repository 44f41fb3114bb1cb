/**
 * Where the time of a request goes: each call of the engine and of a model is a stage of the request it was made for.
 * The request is found by the flow of its promises, so that nothing has to be handed down for it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
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
        const end = (): void => this.#end(`${prefix}.${method}`, performance.now() - startedAt);
        outcome.then(end, end);
      }
      return outcome;
    });
  }

  #end(stage: string, elapsedMs: number): void {
    this.#onStage(stage, elapsedMs / MS_PER_SECOND);
    const stages = this.#request.getStore();
    stages?.set(stage, (stages.get(stage) ?? 0) + elapsedMs);
  }
}
