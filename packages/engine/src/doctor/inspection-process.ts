/**
 * A process of its own in which data files are read, one question after the other. LMDB ends a process where its pages
 * are damaged; here that ends nothing else, and is an answer.
 */
import { ChildSupervisor, siblingModule } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { endCause } from "../host/end-cause.ts";
import { damagedStore } from "../storage/corrupt-data-error.ts";
import { collectionName } from "../storage/folder/data-folder.ts";
import { isSharedName } from "../storage/folder/shared-names.ts";
import type { DoctorMethods } from "./doctor-process.ts";
import { describe } from "./finding.ts";

export class InspectionProcess {
  readonly #child: ChildSupervisor;
  #lastSignal: string | null = null;
  #crashed = false;

  constructor(dataFolder: string) {
    this.#child = new ChildSupervisor({
      name: "inspection process",
      module: siblingModule(import.meta.url, "./doctor-process"),
      spawnOptions: () => ({ args: [dataFolder], stderr: "pipe" }),
      onDeath: (death) => {
        this.#lastSignal = death.signal ?? `code ${death.code}`;
        this.#crashed = endCause(death, false) === "crash";
      },
    });
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  /** Ends a question that takes too long. */
  kill(): void {
    this.#child.kill();
  }

  async ask<M extends keyof DoctorMethods>(
    method: M,
    argument?: unknown,
  ): Promise<Awaited<ReturnType<DoctorMethods[M]>>> {
    const answer = await this.#child.call(method, [argument], { wait: true });
    return answer as Awaited<ReturnType<DoctorMethods[M]>>;
  }

  /** What is wrong; `null`: nothing. */
  async prove(
    method: "proveCatalog" | "proveCollection" | "proveShared",
    of?: string,
  ): Promise<string | null> {
    try {
      return await this.ask(method, of);
    } catch (error) {
      if (!(error instanceof SheafError) || error.code !== "unavailable") return describe(error);
      return `reading it with LMDB ended the process with ${this.#lastSignal ?? "an error"}`;
    }
  }

  /**
   * How the file of a collection, or the one of an environment that collections share, is damaged; `null`: it is not. Throws
   * where that cannot be told.
   */
  async check(store: string): Promise<string | null> {
    this.#crashed = false;
    try {
      return await this.ask("checkStore", store);
    } catch (error) {
      if (!this.#crashed) throw error;
      const reason = `reading it with LMDB ended the process with ${this.#lastSignal}`;
      return damagedStore(isSharedName(store) ? store : collectionName(store), reason).message;
    }
  }
}
