/**
 * The longest turns of the event loops of a served Sheaf, by the processor time of their own threads: what its processes
 * note themselves (see `slice-probe.mjs`), read from outside. Load of the machine is no part of it.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PROBE = new URL("slice-probe.mjs", import.meta.url).href;

/** Until all turns that have ended are noted. */
const NOTED_AFTER_MS = 300;

/** Milliseconds of processor time; 0: no turn was worth a note. */
export interface LongestTurns {
  readonly gateway: number;
  readonly host: number;
  /** Without the garbage collections in them. */
  readonly gatewayWork: number;
  readonly hostWork: number;
}

export class SliceWatch {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** To be made before the server, which is started with its `environment`. */
  static async create(): Promise<SliceWatch> {
    return new SliceWatch(await mkdtemp(join(tmpdir(), "sheaf-slices-")));
  }

  get environment(): Readonly<Record<string, string>> {
    const options = [
      process.env["NODE_OPTIONS"],
      "--disable-warning=ExperimentalWarning",
      `--import=${PROBE}`,
    ];
    return { SLICE_FOLDER: this.#folder, NODE_OPTIONS: options.filter(Boolean).join(" ") };
  }

  /** Of the turns that ended after `since`, by `Date.now`. */
  async longest(since: number): Promise<LongestTurns> {
    await sleep(NOTED_AFTER_MS);
    const gateway = await this.#longest("gateway", since);
    const host = await this.#longest("host", since);
    return {
      gateway: gateway.whole,
      host: host.whole,
      gatewayWork: gateway.work,
      hostWork: host.work,
    };
  }

  async #longest(process: string, since: number): Promise<{ readonly whole: number; readonly work: number }> {
    const notes = await readFile(join(this.#folder, process), "utf8").catch(() => "");
    let [whole, work] = [0, 0];
    for (const note of notes.split("\n")) {
      const [at = 0, spent = 0, collected = 0] = note.split(" ").map(Number);
      if (at < since) continue;
      whole = Math.max(whole, spent);
      work = Math.max(work, spent - collected);
    }
    return { whole, work };
  }

  dispose(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }
}
