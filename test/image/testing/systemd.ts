/** The unit of `deploy/systemd`, run by this machine's systemd in namespaces of its own. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DEPLOY } from "./tools.ts";

const RUN = fileURLToPath(new URL("run-systemd.sh", import.meta.url));
const UNSHARED = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"];
const ATTEMPTS = 150;
const PAUSE_MS = 200;

export class RunningUnit {
  readonly #systemd: ChildProcess;

  /**
   * @param folder For what is written.
   * @param server Folder that has the server installed.
   */
  constructor(folder: string, server: string) {
    const unit = join(DEPLOY, "systemd/sheaf.service");
    this.#systemd = spawn("unshare", [...UNSHARED, "sh", RUN, folder, server, unit], { stdio: "ignore" });
  }

  /** `systemctl` there. Gives what it printed, or throws. */
  systemctl(...args: readonly string[]): string {
    return execFileSync("nsenter", [...this.#inside("--mount", "--root", "--wd"), "systemctl", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  }

  /** What the unit has for a property. */
  property(name: string): string {
    return this.systemctl("show", "--value", "--property", name, "sheaf.service");
  }

  /** Starts the unit alone: of this machine's other services none is wanted. */
  async start(): Promise<void> {
    await until("systemd has not started", () => this.systemctl("list-units", "sheaf.service") !== "");
    this.systemctl("start", "--job-mode=ignore-dependencies", "sheaf.service");
    await this.waitUntilReady();
  }

  async waitUntilReady(): Promise<void> {
    const ask =
      "fetch('http://127.0.0.1:8000/readyz').then(({ status }) => process.exit(status === 200 ? 0 : 1))";
    await until("the unit is not ready", () => {
      const { status } = spawnSync("nsenter", [...this.#inside(), process.execPath, "-e", ask]);
      return status === 0;
    });
  }

  /** Runs a program of this machine in the unit's network. Gives what it printed. */
  beside(command: readonly string[]): string {
    return execFileSync("nsenter", [...this.#inside(), ...command], { encoding: "utf8" });
  }

  kill(): void {
    this.#systemd.kill("SIGKILL");
  }

  #inside(...more: readonly string[]): readonly string[] {
    const { pid } = this.#systemd;
    const first = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0] ?? "";
    return ["--target", first, "--pid", "--net", ...more];
  }
}

async function until(problem: string, holds: () => boolean): Promise<void> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
    try {
      if (holds()) return;
    } catch {
      // It is not there yet.
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(problem);
}
