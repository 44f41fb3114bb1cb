/**
 * A real S3 server, versitygw, on loopback: it checks signatures and sums, and knows ranges, conditions and pages. It is no
 * package of npm: `npm run test:s3` builds it with Go.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { StoreBehind } from "./object-server.ts";

const ACCESS_KEY = "sheaf-test";
const SECRET_KEY = "sheaf-test-secret";

/** Keeps the buckets below `folder`. Throws what the server wrote where it does not start. */
export async function startVersitygw(program: string, folder: string, bucket: string): Promise<StoreBehind> {
  mkdirSync(join(folder, "buckets", bucket), { recursive: true });
  mkdirSync(join(folder, "metadata"));
  const port = await freePort();
  const child = spawn(
    program,
    [
      "--port",
      `127.0.0.1:${port}`,
      "--quiet",
      "posix",
      "--sidecar",
      join(folder, "metadata"),
      join(folder, "buckets"),
    ],
    {
      env: { PATH: process.env["PATH"], ROOT_ACCESS_KEY: ACCESS_KEY, ROOT_SECRET_KEY: SECRET_KEY },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let written = "";
  child.stdout.on("data", (text: Buffer) => (written += text.toString()));
  child.stderr.on("data", (text: Buffer) => (written += text.toString()));
  // Ended with the tests, also where they do not come to `close`.
  process.once("exit", () => child.kill("SIGKILL"));
  await answers(child, port, () => written);
  return {
    port,
    accessKeyId: ACCESS_KEY,
    secretAccessKey: SECRET_KEY,
    isWhole: true,
    async close() {
      const ended = once(child, "exit");
      // A signal from a terminal reaches it as well, and may have ended it before.
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await ended;
      }
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function answers(child: ChildProcess, port: number, written: () => string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (child.exitCode !== null) break;
    const socket = connect(port, "127.0.0.1");
    const [event] = await Promise.race([
      once(socket, "connect").then(() => ["connect"]),
      once(socket, "error").then(() => ["error"]),
    ]).catch(() => ["error"]);
    socket.destroy();
    if (event === "connect") return;
    await wait(50);
  }
  child.kill("SIGKILL");
  throw new Error(`versitygw did not start: ${written()}`);
}
