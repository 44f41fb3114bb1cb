/** The image of `deploy/docker/Dockerfile`, built and run without a container engine. Linux, and root, are needed. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface ImageConfig {
  /** `65532:65532`. */
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly healthcheck: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

export interface Image {
  /** Folder of the root file system. */
  readonly root: string;
  readonly config: ImageConfig;
}

const BUILD = fileURLToPath(new URL("build-image-process.ts", import.meta.url));
const RUN = fileURLToPath(new URL("run-as-container.sh", import.meta.url));
const UNSHARED = ["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"];

/** Takes minutes: it does what the Dockerfile says. Its output goes to this process's. */
export function buildImage(folder: string): Image {
  const program = ["--conditions=@sheaf/source", "--import", "tsx", BUILD, folder];
  execFileSync("unshare", ["--mount", process.execPath, ...program], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const config = JSON.parse(readFileSync(join(folder, "image.json"), "utf8")) as ImageConfig;
  return { root: join(folder, "image"), config };
}

export interface RunOptions {
  /** Made if missing; belongs to the user of the image then, as a new volume does. */
  readonly volume: string;
  /** Folder that is mounted at /run/secrets. */
  readonly secrets: string;
  /** In place of the image's own. */
  readonly command?: readonly string[];
}

/** All that were started here, so that a failed test leaves none behind. */
const started: RunningImage[] = [];

export function killAllImages(): void {
  for (const each of started) each.kill();
}

export class RunningImage {
  readonly #image: Image;
  readonly #engine: ChildProcess;
  #output = "";

  private constructor(image: Image, engine: ChildProcess) {
    this.#image = image;
    this.#engine = engine;
    for (const stream of [engine.stdout, engine.stderr])
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  static start(image: Image, { volume, secrets, command = image.config.command }: RunOptions): RunningImage {
    const uid = Number(image.config.user.split(":")[0]);
    if (!existsSync(volume)) {
      mkdirSync(volume);
      chownSync(volume, uid, uid);
    }
    const program = [...image.config.entrypoint, ...command];
    const engine = spawn(
      "unshare",
      [...UNSHARED, "sh", RUN, image.root, volume, secrets, String(uid), ...program],
      {
        env: { ...image.config.env, SHEAF_DISK_RESERVE: "1%", PATH: process.env["PATH"] },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const running = new RunningImage(image, engine);
    started.push(running);
    return running;
  }

  /** What it has printed. */
  get output(): string {
    return this.#output;
  }

  /** Of its first process, as this machine counts. */
  get pid(): number {
    const children = readFileSync(`/proc/${this.#engine.pid}/task/${this.#engine.pid}/children`, "utf8");
    const pid = Number(children.trim().split(" ")[0]);
    if (!(pid > 0)) throw new Error(`the image runs no more: ${this.#output}`);
    return pid;
  }

  /** Runs a program of the image beside the server, as `docker exec` does. */
  exec(
    command: readonly string[],
    user = this.#image.config.user,
  ): { status: number | null; output: string } {
    const [uid = "", gid = ""] = user.split(":");
    const as = ["--setuid", uid, "--setgid", gid];
    const inside = ["--target", String(this.pid), "--mount", "--pid", "--net", "--root", "--wd", ...as];
    const { status, stdout, stderr } = spawnSync("nsenter", [...inside, ...command], {
      env: { ...this.#image.config.env, PATH: "/usr/local/bin:/usr/bin:/bin" },
      encoding: "utf8",
    });
    return { status, output: stdout + stderr };
  }

  /** Runs a program of this machine in the image's network. Gives what it printed. */
  beside(command: readonly string[]): string {
    return execFileSync("nsenter", this.#inNetwork(command), { encoding: "utf8" });
  }

  /** As `beside`, until the caller ends it. */
  startBeside(command: readonly string[]): ChildProcess {
    return spawn("nsenter", this.#inNetwork(command), { stdio: "ignore" });
  }

  #inNetwork(command: readonly string[]): readonly string[] {
    return ["--target", String(this.pid), "--net", ...command];
  }

  /** As an engine looks after its health. Throws with what the server printed. */
  async waitUntilHealthy(): Promise<void> {
    for (let attempts = 0; attempts < 200; attempts++) {
      if (this.#engine.exitCode !== null) break;
      try {
        if (this.exec(this.#image.config.healthcheck).status === 0) return;
      } catch {
        // Its first process is not there yet.
      }
      await sleep(200);
    }
    throw new Error(`never healthy: ${this.#output}`);
  }

  /** As `docker stop`. Gives the exit code of the image's first process. */
  async stop(): Promise<number | null> {
    const ended = once(this.#engine, "exit") as Promise<[number | null]>;
    process.kill(this.pid, "SIGTERM");
    const [code] = await ended;
    return code;
  }

  /** At once, whatever it does; nothing of it stays. */
  kill(): void {
    this.#engine.kill("SIGKILL");
  }
}
