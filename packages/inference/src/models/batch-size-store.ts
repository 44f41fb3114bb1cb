/**
 * Remembers the calibrated batch size of each model for this kind of processor, so that only the first load ever
 * measures. A file that cannot be read or written costs a measurement, nothing else.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { isObject } from "../graph/model-file.ts";
import { BATCH_CANDIDATES } from "../scheduler/calibrate-batch.ts";

const FILE = "batch-tokens.json";

export class BatchSizeStore {
  readonly #file: string;
  readonly #processor = cpus()[0]?.model ?? "unknown";

  constructor(workFolder: string) {
    this.#file = join(workFolder, FILE);
  }

  /** `null`: not measured yet. */
  async get(digest: string): Promise<number | null> {
    const tokens = (await this.#read())[this.#key(digest)];
    return typeof tokens === "number" && BATCH_CANDIDATES.includes(tokens) ? tokens : null;
  }

  /** Rejects where the folder cannot be written. */
  async set(digest: string, batchTokens: number): Promise<void> {
    const known = { ...(await this.#read()), [this.#key(digest)]: batchTokens };
    await mkdir(dirname(this.#file), { recursive: true });
    const draft = `${this.#file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify(known, null, 2)}\n`);
    await rename(draft, this.#file);
  }

  #key(digest: string): string {
    return `${digest} ${this.#processor}`;
  }

  async #read(): Promise<Readonly<Record<string, unknown>>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, "utf8"));
      return isObject(value) ? value : {};
    } catch {
      return {};
    }
  }
}
