/** The serving contract seen from outside: readiness, keys, one server per folder, signals, killed parents. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import {
  descendants,
  ROOT_KEY,
  ServedSheaf,
  temporaryFolder,
  waitUntilGone,
} from "./testing/served-sheaf.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const MINILM = { "x-service-embedding-model": "sentence-transformers/all-MiniLM-L6-v2" };
/** What the serving contract promises for SIGTERM, plus nothing. */
/** Tells slow from hung. */
const STOP_MS = 30_000;

const started: ServedSheaf[] = [];
afterEach(async () => {
  for (const served of started.splice(0)) {
    if (served.process.exitCode === null && served.process.signalCode === null)
      served.process.kill("SIGKILL");
    await rm(served.data, { recursive: true, force: true });
  }
});

async function start(...args: Parameters<typeof ServedSheaf.start>): Promise<ServedSheaf> {
  const served = await ServedSheaf.start(...args);
  started.push(served);
  return served;
}

async function warmModel(served: ServedSheaf): Promise<void> {
  const reply = await served.request("/embed", {
    json: { texts: ["warm"], instructions: "" },
    headers: MINILM,
  });
  expect(reply.status).toBe(200);
}

describe("sheaf serve", () => {
  it("makes a root key at first start, in a file only its owner can read, and prints it once", async () => {
    const data = await temporaryFolder();
    const first = await start({ data, env: { SHEAF_ROOT_KEY: "" } });
    const key = /sheaf_[\w-]+/u.exec(first.output)?.[0] ?? "";
    expect(key).not.toBe("");
    const file = join(data, "root-key");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, "utf8")).trim()).toBe(key);
    const path = "/api/v2/tenants/default_tenant";
    expect((await first.request(path, { headers: { "x-service-token": key } })).status).toBe(200);
    expect((await first.request(path, { headers: { "x-service-token": `${key}x` } })).status).toBe(401);
    expect(await first.stop()).toBe(0);
    const second = await start({ data, env: { SHEAF_ROOT_KEY: "" } });
    expect(second.output).not.toContain(key);
    expect(second.output).toContain(`The root key is in ${file}`);
    expect((await second.request(path, { headers: { "x-service-token": key } })).status).toBe(200);
  });

  it("refuses auth off on a host that is not loopback", () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [COMMAND, "serve", "--host", "0.0.0.0", "--port", "0", "--auth", "off"],
      { encoding: "utf8", timeout: 30_000, env: { ...process.env, SHEAF_ROOT_KEY: ROOT_KEY } },
    );
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/loopback/u);
  });

  it("refuses a data folder that another server holds, and says who", async () => {
    const first = await start();
    const second = await ServedSheaf.launch({ data: first.data });
    await once(second.process, "exit");
    expect(second.process.exitCode).not.toBe(0);
    expect(second.output).toContain(String(first.pid));
    expect((await first.request("/api/v2/heartbeat")).status).toBe(200);
  });

  it("ends with exit code 0 on SIGTERM, children included", async () => {
    const served = await start();
    await warmModel(served);
    const children = await descendants(served.pid);
    expect(children.length).toBeGreaterThanOrEqual(2);
    const startedAt = performance.now();
    expect(await served.stop()).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(STOP_MS);
    expect(await waitUntilGone(children)).toEqual([]);
  });

  it("ends when npx, which has started it, gets SIGTERM", async () => {
    const data = await temporaryFolder();
    const npx = spawn("npx", ["--offline", "sheaf", "serve", "--port", "0", "--data", data], {
      cwd: ROOT,
      env: { ...process.env, SHEAF_ROOT_KEY: ROOT_KEY, SHEAF_LOG_LEVEL: "info" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [npx.stdout, npx.stderr]) {
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    }
    // The pipes close when the server has ended, too.
    const closed = once(npx, "close");
    while (!output.includes("Sheaf listens on") && npx.exitCode === null) await sleep(20);
    const below = await descendants(npx.pid ?? 0);
    expect(below.length, output).toBeGreaterThanOrEqual(2);
    npx.kill("SIGTERM");
    await closed;
    expect(await waitUntilGone(below)).toEqual([]);
    expect(output).toContain('"msg":"stopping"');
    await rm(data, { recursive: true, force: true });
  });

  it("ends with exit code 0 when Ctrl-C reaches the whole group while requests run", async () => {
    const served = await start({ group: true });
    await warmModel(served);
    const children = await descendants(served.pid);
    const running = served.request("/embed", {
      json: { texts: Array.from({ length: 512 }, (_, i) => `text ${i}`), instructions: "" },
      headers: MINILM,
    });
    await sleep(300);
    const exited = once(served.process, "exit");
    process.kill(-served.pid, "SIGINT");
    expect((await running).status).toBe(200);
    await exited;
    expect(served.process.exitCode).toBe(0);
    expect(await waitUntilGone(children)).toEqual([]);
  });

  it("answers 503 to what is unfinished after its grace period, and still ends in time", async () => {
    const served = await start();
    await warmModel(served);
    const long = "word ".repeat(240);
    const running = served.request("/embed", {
      json: { texts: Array.from({ length: 2_000 }, (_, i) => `${i} ${long}`), instructions: "" },
      headers: MINILM,
    });
    await sleep(500);
    const startedAt = performance.now();
    const [reply, code] = await Promise.all([running, served.stop()]);
    expect(reply.status).toBe(503);
    expect(code).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(STOP_MS);
  });

  it("leaves no child behind when it is killed with SIGKILL", async () => {
    const served = await start();
    await warmModel(served);
    const children = await descendants(served.pid);
    expect(children.length).toBeGreaterThanOrEqual(2);
    const exited = once(served.process, "exit");
    served.process.kill("SIGKILL");
    await exited;
    expect(await waitUntilGone(children)).toEqual([]);
  });
});
