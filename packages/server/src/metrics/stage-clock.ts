/**
 * Where the time of a request goes: reading its body, each call of the engine and of a model, and what the engine says
 * of the calls it was part of. A call counts for the request whose deadline is its last argument; one without is in the
 * metrics alone.
 */
import type { CallReport } from "@sheaf/engine";
import { RequestContext, type Stages } from "../request/request-context.ts";
import { intercept } from "../request/intercept.ts";

const MS_PER_SECOND = 1_000;
/** Methods that are one stage to an operator. */
const STAGE_NAMES: Readonly<Record<string, string>> = { writeAsGiven: "write" };

export class StageClock {
  /** Of the engine's stages, as they are called here. */
  readonly #names = new Map<string, string>();
  readonly #onStage: (stage: string, seconds: number) => void;

  /** @param onStage Told of every stage when it ends, however it does. */
  constructor(onStage: (stage: string, seconds: number) => void) {
    this.#onStage = onStage;
  }

  /** The target with each asynchronous method, named `<prefix>.<method>`, as a stage. */
  timed<T extends object>(prefix: string, target: T): T {
    return intercept(target, (name, method) => {
      const stage = `${prefix}.${STAGE_NAMES[name] ?? name}`;
      return (...args) => {
        const startedAt = performance.now();
        const outcome = method(...args);
        if (outcome instanceof Promise) {
          const last = args.at(-1);
          const stages = last instanceof RequestContext ? last.stages : null;
          const end = (): void => this.#end(stages, stage, performance.now() - startedAt);
          outcome.then(end, end);
        }
        return outcome;
      };
    });
  }

  /** Reading the body of the request, which holds the thread. */
  reading<T>(stages: Stages, read: () => T): T {
    const startedAt = performance.now();
    try {
      return read();
    } finally {
      this.#end(stages, "parse", performance.now() - startedAt);
    }
  }

  /** A stage that was measured elsewhere. */
  spent(stages: Stages, stage: string, milliseconds: number): void {
    this.#end(stages, stage, milliseconds);
  }

  /** What the engine did inside one of its calls. */
  report(stages: Stages, report: CallReport): void {
    for (const [stage, milliseconds] of Object.entries(report.stages)) {
      let name = this.#names.get(stage);
      if (name === undefined) this.#names.set(stage, (name = `engine.stage.${stage}`));
      this.#end(stages, name, milliseconds);
    }
  }

  #end(stages: Stages | null, stage: string, milliseconds: number): void {
    this.#onStage(stage, milliseconds / MS_PER_SECOND);
    stages?.set(stage, (stages.get(stage) ?? 0) + milliseconds);
  }
}
