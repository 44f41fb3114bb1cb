/** The existing server, as its package on PyPI starts it, on a folder that goes with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../scripts/free-port.ts";

const READY_MS = 60_000;

export class ChromaServer {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  /** @param bin Of the environment that holds the package. */
  static async start(bin: string): Promise<ChromaServer> {
    const folder = await mkdtemp(join(tmpdir(), "chroma-"));
    const port = await freePort();
    const args = ["run", "--host", "127.0.0.1", "--port", String(port), "--path", join(folder, "data")];
    // It writes its settings into the home folder.
    const env = { ...process.env, HOME: folder };
    const child = spawn(join(bin, "chroma"), args, { stdio: "ignore", cwd: folder, env });
    const server = new ChromaServer(`http://127.0.0.1:${port}`, child, folder);
    try {
      await server.#waitUntilReady();
      return server;
    } catch (error) {
      await server.dispose();
      throw error;
    }
  }

  /** Where its data lies. */
  get data(): string {
    return join(this.#folder, "data");
  }

  async stop(): Promise<void> {
    // It does not end at SIGTERM.
    const isRunning = this.#child.exitCode === null && this.#child.signalCode === null;
    if (isRunning && this.#child.kill("SIGKILL")) await once(this.#child, "exit");
  }

  async dispose(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #waitUntilReady(): Promise<void> {
    const deadline = performance.now() + READY_MS;
    while (performance.now() < deadline) {
      if (this.#child.exitCode !== null) throw new Error("the existing server ended at once");
      const status = await fetch(`${this.url}/api/v2/heartbeat`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      await sleep(50);
    }
    throw new Error(`the existing server has no heartbeat after ${READY_MS} ms`);
  }
}
