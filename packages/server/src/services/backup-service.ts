/**
 * Backups in the server's folder for them, each under a name. One is made at a time, in the background; what became of the last
 * one is remembered until the server stops, that of others is read from their files.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type BackupHeader, isBackup, liesIn, readChain, readHeader } from "@sheaf/engine";
import { type BackupBody, Cancellation, SheafError, backupName } from "@sheaf/protocol";
import type { BackupMeasure } from "../metrics/server-metrics.ts";
import type { EngineSource } from "../request/engine-source.ts";

export interface BackupServiceOptions {
  readonly engine: EngineSource;
  /** `null`: none are made. */
  readonly folder: string | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onEnd: (status: BackupStatus) => void;
}

export interface BackupStatus {
  readonly name: string;
  readonly state: "running" | "complete" | "failed";
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly finished: number | null;
  readonly tenant: string | null;
  readonly incremental: string | null;
  /** With API keys, as digests. */
  readonly keys: boolean;
  /** Those that are copied. */
  readonly collections: number;
  /** Of how many; `null`: that is not known yet. */
  readonly totalCollections: number | null;
  readonly bytes: number;
  /** Collections that could not be copied. */
  readonly damaged: number;
  /** Why it failed. */
  readonly error: string | null;
}

export class BackupService {
  readonly #options: BackupServiceOptions;
  #last: BackupStatus | null = null;
  #stop: Cancellation | null = null;
  #newest = 0;
  /** The folder was. */
  #looked = false;

  constructor(options: BackupServiceOptions) {
    this.#options = options;
    if (options.folder !== null) void this.#findNewest();
  }

  get measure(): BackupMeasure {
    const missing = this.#options.folder !== null && this.#looked && this.#newest === 0;
    return { running: this.#stop !== null, newest: this.#newest, missing };
  }

  /** 412 while another one is made and without a folder, 409 where the name is taken, 404 for an unknown base. */
  async start({ name, base, tenant, keys }: BackupBody): Promise<BackupStatus> {
    const folder = this.#folder();
    if (this.#stop !== null) throw new SheafError("failed_precondition", "another backup is being made");
    for (const one of [name, base])
      if (one !== null && !liesIn(join(folder, one), folder))
        throw new SheafError(
          "failed_precondition",
          `Backup [${one}] is a link that leads out of the folder for backups`,
        );
    if (isBackup(join(folder, name)))
      throw new SheafError("already_exists", `Backup [${name}] already exists`);
    if (base !== null && !isBackup(join(folder, base))) throw absent(base);
    const engine = this.#options.engine();
    if (tenant !== null) await engine.getTenant(tenant);
    if (this.#stop !== null) throw new SheafError("failed_precondition", "another backup is being made");
    const stop = (this.#stop = new Cancellation());
    const status: BackupStatus = {
      ...{ name, started: this.#options.now(), tenant, incremental: base, keys },
      ...{ state: "running", finished: null, error: null },
      ...{ collections: 0, totalCollections: null, bytes: 0, damaged: 0 },
    };
    this.#last = status;
    const request = {
      target: join(folder, name),
      base: base === null ? null : join(folder, base),
      tenant,
      keys,
    };
    void engine
      .makeBackup(request, { signal: stop })
      .then(
        ({ started, collections, bytes, damaged }) => ({
          ...status,
          // As the backup itself says, so that a later server says the same of it.
          started,
          state: "complete" as const,
          collections,
          totalCollections: collections,
          bytes,
          damaged,
        }),
        (error: unknown) => ({ ...status, state: "failed" as const, error: wordsOf(error) }),
      )
      .then((ended) => this.#ended({ ...ended, finished: this.#options.now() }));
    return status;
  }

  /** The newest first. */
  async list(): Promise<readonly BackupStatus[]> {
    const folder = this.#folder();
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const statuses: BackupStatus[] = [];
    const read = readOnce();
    for (const entry of entries) {
      const status = entry.isDirectory() ? await this.#find(entry.name, read) : null;
      if (status !== null) statuses.push(status);
    }
    const last = this.#last;
    if (last !== null && last.state !== "complete" && !statuses.some(({ name }) => name === last.name))
      statuses.push(await this.#progressing(last));
    return statuses.toSorted((a, b) => b.started - a.started);
  }

  /** 404 for a name that no backup has. */
  async get(name: string): Promise<BackupStatus> {
    this.#folder();
    const status = await this.#find(backupName(name, "name"));
    if (status === null) throw absent(name);
    return status;
  }

  /** Ends one that is being made: 412 for any other. */
  async cancel(name: string): Promise<void> {
    const { state } = await this.get(name);
    if (state !== "running")
      throw new SheafError("failed_precondition", `Backup [${name}] is not being made`);
    this.#stop?.abort(new SheafError("cancelled", "it was cancelled"));
  }

  async #find(name: string, read = readHeader): Promise<BackupStatus | null> {
    const last = this.#last?.name === name ? this.#last : null;
    if (last?.state === "running") return this.#progressing(last);
    try {
      const folder = join(this.#folder(), name);
      const status = statusOf(name, await read(folder));
      return { ...status, ...(await brokenChain(folder, read)) };
    } catch (error) {
      if (!(error instanceof SheafError)) throw error;
      if (last?.state === "failed") return last;
      const isDamaged = error.code === "failed_precondition";
      return isDamaged ? { ...NOTHING, name, state: "failed", error: error.message } : null;
    }
  }

  async #progressing(status: BackupStatus): Promise<BackupStatus> {
    if (status.state !== "running") return status;
    const progress = await this.#options.engine().backupProgress();
    if (progress === null) return this.#last ?? status;
    const { collections, totalCollections, bytes } = progress;
    return { ...status, collections, totalCollections, bytes };
  }

  #ended(status: BackupStatus): void {
    this.#last = status;
    this.#stop = null;
    if (status.state === "complete" && status.tenant === null) this.#newest = status.started / 1_000;
    this.#options.onEnd(status);
  }

  async #findNewest(): Promise<void> {
    const made = await this.list().catch(() => []);
    this.#looked = true;
    const newest = made.find(({ state, tenant }) => state === "complete" && tenant === null);
    this.#newest = Math.max(this.#newest, (newest?.started ?? 0) / 1_000);
  }

  #folder(): string {
    const { folder } = this.#options;
    if (folder === null)
      throw new SheafError(
        "failed_precondition",
        "the server makes no backups: start it with --backup-folder",
      );
    return folder;
  }
}

const NOTHING = {
  ...{ started: 0, finished: null, tenant: null, incremental: null, keys: false },
  ...{ collections: 0, totalCollections: null, bytes: 0, damaged: 0 },
} as const;

function statusOf(name: string, header: BackupHeader): BackupStatus {
  const { started, finished, tenant, base, keys, collections, bytes, damaged } = header;
  const incremental = base === null ? null : (base.path.split("/").at(-1) ?? null);
  return {
    ...{ name, state: "complete", started, finished, tenant, incremental, keys, error: null },
    ...{ collections, totalCollections: collections, bytes, damaged },
  };
}

/** What is to be said of a backup that cannot be restored, because one that it adds to is not there. */
async function brokenChain(
  folder: string,
  read: typeof readHeader,
): Promise<Pick<BackupStatus, "state" | "error"> | null> {
  try {
    await readChain(folder, read);
    return null;
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    return { state: "failed", error: `it cannot be restored: ${error.message}` };
  }
}

/** Many add to the same one. */
function readOnce(): typeof readHeader {
  const known = new Map<string, Promise<BackupHeader>>();
  return (folder) => {
    const header = known.get(folder) ?? readHeader(folder);
    known.set(folder, header);
    return header;
  };
}

function absent(name: string): SheafError {
  return new SheafError("not_found", `Backup [${name}] not found`);
}

function wordsOf(error: unknown): string {
  return error instanceof SheafError ? error.message : "internal error";
}
