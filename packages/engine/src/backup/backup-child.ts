/** The parent's side of the backup process. */
import { ChildSupervisor, siblingModule } from "@sheaf/process";
import { type CancelSignal, SheafError, abortable } from "@sheaf/protocol";
import { endCause } from "../host/end-cause.ts";
import { HOST_PROCESS } from "../host/host-process.ts";
import type { BackupMethods } from "./backup-process.ts";

interface End {
  readonly by: string;
  readonly isCrash: boolean;
}

export class BackupChild {
  readonly #child: ChildSupervisor;
  /** Since the last question; `null`: it has not died. */
  #end: End | null = null;

  /** @param lockFd Of the lock of the data folder, which the process holds, too, while it runs. */
  constructor(lockFd: number | undefined) {
    const inherited = lockFd === undefined ? [] : [lockFd];
    this.#child = new ChildSupervisor({
      name: "backup process",
      module: siblingModule(import.meta.url, "./backup-process"),
      spawnOptions: () => ({ ...HOST_PROCESS, stderr: "pipe", inherited }),
      onDeath: (death) => {
        const isCrash = endCause(death, false) === "crash";
        this.#end = { by: death.signal ?? `code ${death.code}`, isCrash };
      },
    });
  }

  /** Of the process, if there is one. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * An abort ends the process, which may be in the middle of a long step. Throws `collection_unavailable` where it crashed on
   * what it read, `unavailable` where somebody else ended it.
   */
  async ask<M extends keyof BackupMethods>(
    method: M,
    argument: Parameters<BackupMethods[M]>[0],
    signal?: CancelSignal,
  ): Promise<Awaited<ReturnType<BackupMethods[M]>>> {
    this.#end = null;
    const answer = this.#child.call(method, [argument], { wait: true });
    try {
      return (await (signal === undefined ? answer : abortable(answer, signal))) as Awaited<
        ReturnType<BackupMethods[M]>
      >;
    } catch (error) {
      if (signal?.aborted === true) this.#child.kill();
      // A bucket may be unavailable, too.
      const end = this.#lastEnd();
      if (!(error instanceof SheafError) || error.code !== "unavailable" || end === null) throw error;
      const { by, isCrash } = end;
      if (!isCrash)
        throw new SheafError("unavailable", `the backup process ended with ${by}`, { cause: error });
      const reason = `reading it with LMDB ended the process with ${by}`;
      throw new SheafError("collection_unavailable", reason, { cause: error });
    }
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  #lastEnd(): End | null {
    return this.#end;
  }
}
