/**
 * The engine host's side of the indexer process, which is started for the first job and ended when none has come for a
 * while. One job at a time, for one core is enough to keep up with writes; tenants in turn.
 */
import { ChildSupervisor, siblingModule } from "@sheaf/process";
import { type CancelSignal, abortable, throwIfAborted } from "@sheaf/protocol";
import { HOST_PROCESS } from "../host/host-process.ts";
import { TurnLock } from "../storage/turn-lock.ts";
import type { IndexerArguments } from "./indexer-process.ts";
import type { SealJob, SealedFile } from "./seal-job.ts";

/** Then its memory goes back to the system. */
const IDLE_MS = 30_000;
/** More than its longest step, opening a large environment on a slow disk. */
const HANG_AFTER_MS = 60_000;

export interface JobCaller {
  /** Whose job it is. */
  readonly tenant: string;
  readonly signal: CancelSignal;
}

export class IndexerChild {
  readonly #arguments: IndexerArguments;
  readonly #inherited: readonly number[];
  readonly #turns = new TurnLock();
  #child: ChildSupervisor | null = null;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  /** `lockFd`: of the lock of the data folder, which the process holds, too, while it runs. */
  constructor({
    dataFolder,
    diskReserve,
    lockFd,
  }: IndexerArguments & { readonly lockFd?: number | undefined }) {
    this.#inherited = lockFd === undefined ? [] : [lockFd];
    this.#arguments = { dataFolder, diskReserve };
  }

  /** Of the process, if there is one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Once it has settled, nothing works on the job any more. */
  async seal(job: SealJob, { tenant, signal }: JobCaller): Promise<SealedFile> {
    const leave = await this.#turn(tenant, signal);
    clearTimeout(this.#idle);
    try {
      throwIfAborted(signal);
      return await this.#run(job, signal);
    } finally {
      if (!this.#closed) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
      leave();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#end();
  }

  /** It is given back where nobody waits for it any more. */
  async #turn(tenant: string, signal: CancelSignal): Promise<() => void> {
    const turn = this.#turns.enter(tenant);
    try {
      return await abortable(turn, signal);
    } catch (error) {
      void turn.then((leave) => leave());
      throw error;
    }
  }

  async #run(job: SealJob, signal: CancelSignal): Promise<SealedFile> {
    let ended: Promise<void> | undefined;
    const keep = (): (() => void) => {
      let end = (): void => {};
      ended = new Promise((resolve) => (end = resolve));
      return end;
    };
    this.#child ??= this.#newChild();
    try {
      return (await this.#child.call("seal", [job], { wait: true, signal, keep })) as SealedFile;
    } catch (error) {
      await ended;
      throw error;
    }
  }

  #newChild(): ChildSupervisor {
    return new ChildSupervisor({
      name: "indexer",
      module: siblingModule(import.meta.url, "./indexer-process"),
      spawnOptions: () => ({
        ...HOST_PROCESS,
        inherited: this.#inherited,
        args: [JSON.stringify(this.#arguments)],
      }),
      restart: false,
      hangAfterMs: HANG_AFTER_MS,
    });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    await child?.close();
  }
}
