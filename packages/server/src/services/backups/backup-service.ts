/**
 * Backups in the server's folder or bucket for them, each under a name. One is made at a time, in the background; what became of the last
 * one is remembered until the server stops, that of others is read from their files.
 */
import { type BackupBody, Cancellation, SheafError, backupName } from "@sheaf/protocol";
import type { BackupMeasure } from "../../metrics/server-metrics.ts";
import type { EngineSource } from "../../request/engine-source.ts";
import type { BackupReader, BackupShelf } from "./backup-shelf.ts";
import { type BackupStatus, newestFirst, statusIn } from "./backup-status.ts";

export interface BackupServiceOptions {
  readonly engine: EngineSource;
  /** `null`: none are made. */
  readonly shelf: BackupShelf | null;
  /** The records are not here, and no shelf can help. */
  readonly isDatabase?: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onEnd: (status: BackupStatus) => void;
}

export class BackupService {
  readonly #options: BackupServiceOptions;
  #last: BackupStatus | null = null;
  #stop: Cancellation | null = null;
  #newest = 0;
  /** At what is there. */
  #looked = false;

  constructor(options: BackupServiceOptions) {
    this.#options = options;
    if (options.shelf !== null) void this.#findNewest();
  }

  get measure(): BackupMeasure {
    const missing = this.#options.shelf !== null && this.#looked && this.#newest === 0;
    return { running: this.#stop !== null, newest: this.#newest, missing };
  }

  /** 412 while another one is made and without a folder, 409 where the name is taken, 404 for an unknown base. */
  async start({ name, base, tenant, keys }: BackupBody): Promise<BackupStatus> {
    const shelf = this.#shelf();
    if (this.#stop !== null) throw new SheafError("failed_precondition", "another backup is being made");
    const place = shelf.placeFor(name, base);
    if (await shelf.isBackup(name)) throw new SheafError("already_exists", `Backup [${name}] already exists`);
    if (base !== null && !(await shelf.isBackup(base))) throw absent(base);
    const engine = this.#options.engine();
    if (tenant !== null) await engine.getTenant(tenant);
    // What one that was cancelled has sent to a bucket is removed first, which the engine goes on with.
    if ((await engine.backupProgress()) !== null)
      throw new SheafError(
        "failed_precondition",
        "another backup is being made, or what it has left removed",
      );
    if (this.#stop !== null) throw new SheafError("failed_precondition", "another backup is being made");
    const stop = (this.#stop = new Cancellation());
    const status: BackupStatus = {
      ...{ name, started: this.#options.now(), tenant, incremental: base, keys },
      ...{ state: "running", finished: null, error: null },
      ...{ collections: 0, totalCollections: null, bytes: 0, damaged: 0, withoutIndex: 0 },
    };
    this.#last = status;
    void engine
      .makeBackup({ ...place, tenant, keys }, { signal: stop })
      .then(
        ({ started, collections, bytes, damaged, withoutIndex }) => ({
          ...status,
          // As the backup itself says, so that a later server says the same of it.
          started,
          state: "complete" as const,
          collections,
          totalCollections: collections,
          bytes,
          damaged,
          withoutIndex,
        }),
        (error: unknown) => ({ ...status, state: "failed" as const, error: wordsOf(error) }),
      )
      .then((ended) => this.#ended({ ...ended, finished: this.#options.now() }));
    return status;
  }

  /** The newest first. */
  async list(): Promise<readonly BackupStatus[]> {
    const shelf = this.#shelf();
    const statuses: BackupStatus[] = [];
    const reader = shelf.reader();
    for (const name of await shelf.names()) {
      const status = await this.#find(name, reader);
      if (status !== null) statuses.push(status);
    }
    const last = this.#last;
    if (last !== null && last.state !== "complete" && !statuses.some(({ name }) => name === last.name))
      statuses.push(await this.#progressing(last));
    return newestFirst(statuses);
  }

  /** 404 for a name that no backup has. */
  async get(name: string): Promise<BackupStatus> {
    const status = await this.#find(backupName(name, "name"), this.#shelf().reader());
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

  async #find(name: string, reader: BackupReader): Promise<BackupStatus | null> {
    const last = this.#last?.name === name ? this.#last : null;
    if (last?.state === "running") return this.#progressing(last);
    const status = await statusIn(reader, name);
    const isSound = status !== null && status.error === null;
    return !isSound && last?.state === "failed" ? last : status;
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

  #shelf(): BackupShelf {
    const { shelf, isDatabase = false } = this.#options;
    if (shelf !== null) return shelf;
    const words = isDatabase
      ? "the records are in a database: make a backup of that, and of the bucket of --objects"
      : "the server makes no backups: start it with --backup-folder";
    throw new SheafError("failed_precondition", words);
  }
}

function absent(name: string): SheafError {
  return new SheafError("not_found", `Backup [${name}] not found`);
}

function wordsOf(error: unknown): string {
  return error instanceof SheafError ? error.message : "internal error";
}
