/** A whole server in this process, with its engine host as a child. */
import { lookup } from "node:dns/promises";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FlagTexts, readSettings } from "./config.ts";
import { SettingError } from "./settings/setting-error.ts";
import { type RunningServer, startServer } from "./server.ts";
import { RawClient } from "./testing/raw-client.ts";

const LOGGER = pino({ level: "silent" });

let dataFolder: string;
const running: RunningServer[] = [];
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "sheaf-server-"));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
  await rm(dataFolder, { recursive: true, force: true });
});

async function start(flags: FlagTexts = {}): Promise<RunningServer> {
  const server = await startServer(readSettings({ dataFolder, port: "0", ...flags }, {}), LOGGER);
  running.push(server);
  return server;
}

function status(server: RunningServer, path: string, key?: string): Promise<number> {
  const headers: Record<string, string> = key === undefined ? {} : { "x-service-token": key };
  return fetch(`${server.url}${path}`, { headers }).then((response) => response.status);
}

describe("startServer", () => {
  it("serves with the key that it made, says that it is ready when it is told to, and stops", async () => {
    const server = await start();
    const key = server.rootKey?.key;
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect(server.rootKey).toMatchObject({ file: join(dataFolder, "root-key"), isNew: true });
    expect(await status(server, "/api/v2/heartbeat")).toBe(503);
    server.open();
    expect(await status(server, "/api/v2/heartbeat")).toBe(200);
    expect(await status(server, "/api/v2/tenants/default_tenant", key)).toBe(200);
    expect(await status(server, "/api/v2/tenants/default_tenant")).toBe(401);
    await server.stop();
    await expect(status(server, "/livez")).rejects.toThrow();
  });

  it("stops although somebody holds a connection on which nothing is asked", async () => {
    const server = await start({ role: "embed" });
    const socket = createConnection(Number(new URL(server.url).port), "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await server.stop();
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it("serves its metrics on a port of this machine, where that is set", async () => {
    const server = await start({ metricsPort: "0" });
    const url = `http://127.0.0.1:${server.metricsPort}`;
    const text = await fetch(`${url}/metrics`).then((response) => response.text());
    expect(text).toContain("sheaf_open_collections 0");
    expect(text).toContain('sheaf_child_restarts_total{child="engine host"} 0');
    expect(text).toContain("process_resident_memory_bytes");
    expect((await fetch(`${url}/api/v2/tenants`)).status).toBe(404);
    const rebound = await RawClient.open(server.metricsPort ?? 0);
    expect(await rebound.ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")).toEqual([403]);
    expect(rebound.received).not.toContain("sheaf_");
    expect(rebound.received).toContain("Host: must be the address of the connection, --metrics-host or");
    rebound.close();
    await server.stop();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow();
  });

  it("serves its metrics on another address, under that name and the allowed ones", async () => {
    const server = await start({ metricsPort: "0", metricsHost: "0.0.0.0", allowedHosts: "sheaf.internal" });
    const statusOf = async (host: string) => {
      const client = await RawClient.open(server.metricsPort ?? 0);
      const [status] = await client.ask(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      client.close();
      return status;
    };
    expect(await statusOf("sheaf.internal:9464")).toBe(200);
    expect(await statusOf("0.0.0.0")).toBe(200);
    expect(await statusOf("sheaf.example")).toBe(403);
  });

  it("listens on all addresses of localhost, with the same bounds on each", async () => {
    const server = await start({ host: "localhost", auth: "off", role: "embed" });
    const port = Number(new URL(server.url).port);
    const addresses = await lookup("localhost", { all: true });
    for (const { address } of addresses) {
      const socket = createConnection(port, address);
      socket.write("GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n");
      const chunk = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
      expect(chunk.toString()).toMatch(/^HTTP\/1\.1 403 /);
      socket.destroy();
    }
  });

  it("leaves nothing behind where the data folder is held by another", async () => {
    const first = await start({ auth: "off" });
    await expect(start({ auth: "off" })).rejects.toThrow(String(process.pid));
    expect(await status(first, "/api/v2/tenants/default_tenant")).toBe(200);
    await first.stop();
    running.length = 0;
    await start({ auth: "off" });
  });

  it("opens no store with the role embed", async () => {
    const server = await start({ role: "embed", auth: "off" });
    expect(server.rootKey).toBeNull();
    expect(await status(server, "/api/v2/tenants/default_tenant")).toBe(501);
  });

  it("refuses a models file that names a folder that is not there", async () => {
    const modelsFile = join(dataFolder, "models.json");
    const unmade = join(dataFolder, "unmade");
    const tell = (path: string): Promise<void> =>
      writeFile(modelsFile, JSON.stringify({ "BAAI/bge-m3": { path } }));
    await tell("weights/bge");
    const refused = start({ dataFolder: unmade, modelsFile });
    await expect(refused).rejects.toThrow(SettingError);
    await expect(refused).rejects.toThrow(
      `${modelsFile}: the folder of "BAAI/bge-m3" does not exist: ${join(dataFolder, "weights/bge")}`,
    );
    expect(existsSync(unmade)).toBe(false);
    // Its weights may come later, as those of any other model.
    await mkdir(join(dataFolder, "weights"));
    await tell("weights");
    await start({ modelsFile, role: "embed", auth: "off" });
  });

  it("refuses a port that is taken, and makes neither data folder nor root key", async () => {
    const first = await start({ role: "embed", auth: "off" });
    const port = new URL(first.url).port;
    const unmade = join(dataFolder, "unmade");
    await expect(start({ dataFolder: unmade, port })).rejects.toThrow(
      `port ${port} is in use on 127.0.0.1; choose another with --port, or end the program that uses it`,
    );
    expect(existsSync(unmade)).toBe(false);
  });

  it.each([
    ["host", "--host", "192.0.2.1", "this is no address of this machine"],
    ["host", "--host", "nosuch.invalid", "there is no host of this name|the name cannot be looked up"],
    ["metricsHost", "--metrics-host", "192.0.2.1", "this is no address of this machine"],
  ])("refuses a %s that it cannot listen on: %s %s", async (name, flag, host, problem) => {
    const unmade = join(dataFolder, "unmade");
    const refused = start({ dataFolder: unmade, metricsPort: "0", [name]: host });
    await expect(refused).rejects.toThrow(SettingError);
    await expect(refused).rejects.toThrow(
      new RegExp(
        `^${flag} ${host}: (?:${problem}).*; give an address of this machine, 127\\.0\\.0\\.1 for`,
        "u",
      ),
    );
    expect(existsSync(unmade)).toBe(false);
  });

  it("makes no root key where a port of the metrics is taken or the data folder is held by another", async () => {
    const first = await start({ auth: "off", metricsPort: "0" });
    const unmade = join(dataFolder, "unmade");
    const metricsPort = String(first.metricsPort);
    await expect(start({ dataFolder: unmade, metricsPort })).rejects.toThrow(
      `port ${metricsPort} is in use on 127.0.0.1; choose another with --metrics-port`,
    );
    expect(existsSync(unmade)).toBe(false);
    await expect(start()).rejects.toThrow(String(process.pid));
    expect(existsSync(join(dataFolder, "root-key"))).toBe(false);
  });
});
