/** Heavy work of a tenant in a process of its own, so that what the client does is not counted as the server's time. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import type { CallCounts } from "./heavy-work.ts";
import type { Tenant } from "./tenant.ts";

const MODULE = fileURLToPath(new URL("work-process.ts", import.meta.url));
/** Clients run on machines of their own; here they give way to the server. */
const NICENESS = 10;

export class BusyClient {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when the work is prepared. */
  static async start(url: string, tenant: Tenant, work: string): Promise<BusyClient> {
    const child = fork(MODULE, [url, tenant.name, tenant.key, work], {
      execArgv: ["--conditions=@sheaf/source", "--import", "tsx"],
    });
    setPriority(child.pid ?? 0, NICENESS);
    await answer(child);
    return new BusyClient(child);
  }

  /** See `keepBusy`. */
  async workFor(seconds: number): Promise<CallCounts> {
    this.#child.send(seconds);
    return (await answer(this.#child)) as CallCounts;
  }

  stop(): void {
    this.#child.kill();
  }
}

async function answer(child: ChildProcess): Promise<unknown> {
  // Comes after the last message, which "exit" need not.
  const exited = once(child, "disconnect").then(() => {
    throw new Error("the client ended");
  });
  const [message] = (await Promise.race([once(child, "message"), exited])) as unknown[];
  // It may well end once it has answered.
  exited.catch(() => {});
  return message;
}
