/**
 * Where the time of one call goes, by stage. A stage is measured where it is called, so that stages themselves stay
 * functions of rows; one that runs several times (once a search, once a leaf) is summed up.
 */
import type { CallReport, CallStage, EngineOptions } from "../engine.ts";

export class StageTimes {
  readonly #milliseconds: { [stage in CallStage]?: number } = {};
  readonly #startedAt = performance.now();
  readonly #onScan: ((rows: number) => void) | undefined;
  /** To be called when what takes several cores is done. */
  readonly near: () => void;
  #rowsScanned = 0;

  constructor(onScan?: (rows: number) => void, near: () => void = () => {}) {
    this.#onScan = onScan;
    this.near = near;
  }

  /** The collection is open and the call's turn has come. */
  opened(): this {
    this.#add("open", performance.now() - this.#startedAt);
    return this;
  }

  scanned(rows: number): void {
    this.#rowsScanned += rows;
    this.#onScan?.(rows);
  }

  async measure<T>(stage: CallStage, work: () => T | Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.#add(stage, performance.now() - startedAt);
    }
  }

  report(): CallReport {
    return { stages: this.#milliseconds, rowsScanned: this.#rowsScanned };
  }

  #add(stage: CallStage, milliseconds: number): void {
    this.#milliseconds[stage] = (this.#milliseconds[stage] ?? 0) + milliseconds;
  }
}

/** Times every call, and knows what all of them did together. */
export class CallMeter {
  #rowsScanned = 0;
  #running = 0;

  /** Calls that have not settled; one that was aborted counts until it has noticed. */
  get running(): number {
    return this.#running;
  }

  /** Rows that dense searches compared so far, those of running calls among them. */
  get rowsScanned(): number {
    return this.#rowsScanned;
  }

  /** Tells the caller where the time of its `work` went, however that ends. */
  async measure<T>(
    options: Pick<EngineOptions, "onReport" | "onNear"> | undefined,
    work: (times: StageTimes) => Promise<T>,
  ): Promise<T> {
    const onScan = (rows: number): void => {
      this.#rowsScanned += rows;
    };
    const times = new StageTimes(onScan, () => options?.onNear?.());
    this.#running++;
    try {
      return await work(times);
    } finally {
      this.#running--;
      options?.onReport?.(times.report());
    }
  }
}
