/**
 * A folder that a local Chroma wrote, copied and served by Chroma's own program. Only that program reads the copy, so
 * nothing of it is interpreted here, and the folder stays as it is.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { cp, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnProgram } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { SettingError } from "../../../settings/setting-error.ts";

export interface ServedFolderOptions {
  readonly folder: string;
  /** Chroma's program, as a path or a name on PATH. */
  readonly program: string;
  /** Where the copy goes; removed at the end. */
  readonly copies: string | undefined;
}

const READY_MS = 120_000;
const LAST_OUTPUT = 2_000;

export class ServedFolder {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #work: string;
  #output = "";

  private constructor(url: string, child: ChildProcess, work: string) {
    this.url = url;
    this.#child = child;
    this.#work = work;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-LAST_OUTPUT);
      });
    // Whatever ends this process must not leave a server behind.
    process.once("exit", this.#kill);
  }

  /** @throws SettingError for what is no folder of Chroma, `failed_precondition` where it cannot be served. */
  static async start({ folder, program, copies = tmpdir() }: ServedFolderOptions): Promise<ServedFolder> {
    if (!existsSync(join(folder, "chroma.sqlite3")))
      throw new SettingError(`${folder} holds no chroma.sqlite3: it is not the folder of a local Chroma`);
    const work = await mkdtemp(join(copies, "sheaf-chroma-"));
    let served: ServedFolder | null = null;
    try {
      const data = join(work, "data");
      await cp(folder, data, { recursive: true, filter: isCopied });
      const home = join(work, "home");
      mkdirSync(home);
      const port = await freePort();
      const args = ["run", "--host", "127.0.0.1", "--port", String(port), "--path", data];
      // The program writes its settings into the home folder.
      const env = { HOME: home, ANONYMIZED_TELEMETRY: "False" };
      const child = spawnProgram(program, { args, cwd: work, env });
      if (child.pid === undefined) throw cannotStart(program, await once(child, "error"));
      served = new ServedFolder(`http://127.0.0.1:${port}`, child, work);
      await served.#waitUntilReady(program);
      return served;
    } catch (error) {
      if (served === null) rmSync(work, { recursive: true, force: true });
      else await served.dispose();
      throw error;
    }
  }

  async dispose(): Promise<void> {
    process.off("exit", this.#kill);
    if (this.#isRunning()) {
      const ended = once(this.#child, "exit");
      // It does not end at SIGTERM, and the copy is thrown away.
      this.#child.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#work, { recursive: true, force: true });
  }

  #isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  readonly #kill = (): void => {
    if (this.#isRunning()) this.#child.kill("SIGKILL");
    rmSync(this.#work, { recursive: true, force: true });
  };

  async #waitUntilReady(program: string): Promise<void> {
    const deadline = performance.now() + READY_MS;
    while (performance.now() < deadline) {
      if (!this.#isRunning()) throw cannotServe(`${program} ended at once: ${this.#output.trim()}`);
      const status = await fetch(`${this.url}/api/v2/heartbeat`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      await sleep(50);
    }
    throw cannotServe(`${program} has no heartbeat after ${READY_MS} ms: ${this.#output.trim()}`);
  }
}

function cannotStart(program: string, [error]: readonly unknown[]): SettingError {
  const why = error instanceof Error ? error.message : String(error);
  const advice = "install it with `pip install chromadb`, or name it with --chroma";
  return new SettingError(`${program} cannot be started (${why}): ${advice}`);
}

function cannotServe(message: string): SheafError {
  return new SheafError("failed_precondition", message);
}

/** Links could lead anywhere. */
function isCopied(path: string): boolean {
  const stats = lstatSync(path);
  return stats.isFile() || stats.isDirectory();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await new Promise((done) => server.close(done));
  return port;
}
