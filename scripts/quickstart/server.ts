/** Starts the real command on a free loopback port with a temporary data folder, and stops it. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SheafClient } from "@sheaf/client";
import { freePort } from "../free-port.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const READY_TIMEOUT_MS = 60_000;
/** Instead of a tenth of the disk: the folder is small and temporary, and laptops are often nearly full. */
const DISK_RESERVE_BYTES = 32 * 1024 * 1024;

export interface RunningServer {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  readonly client: SheafClient;
  /** Resolves when it is not there any more. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** @param env More of the environment, such as a root key of the caller's. */
export async function startServer(env: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const data = await mkdtemp(join(tmpdir(), "sheaf-quickstart-"));
  const key = env["SHEAF_ROOT_KEY"] ?? randomBytes(24).toString("base64url");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [COMMAND, "serve", "--host", "127.0.0.1", "--port", String(port), "--data", data];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      SHEAF_ROOT_KEY: key,
      SHEAF_LOG_LEVEL: "error",
      SHEAF_DISK_RESERVE: String(DISK_RESERVE_BYTES),
      ...env,
    },
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  const client = new SheafClient({ url, key });
  try {
    await waitUntilReady(client, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, key, pid: child.pid!, client, ended, stop };
}

async function waitUntilReady(client: SheafClient, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with exit code ${child.exitCode}`);
    try {
      await client.heartbeat();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(50);
    }
  }
}
