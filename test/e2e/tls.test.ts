/** TLS of the server itself: bad files at the start and at a reload, clients that speak no TLS or never finish to. */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:https";
import { type AddressInfo, type Socket, connect } from "node:net";
import { join } from "node:path";
import { type DetailedPeerCertificate, connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type SelfSigned, selfSigned } from "../compat/testing/self-signed.ts";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";

const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
/** More than the server keeps. */
const UNFINISHED = 1_100;

let folder: string;
let cert: string;
let key: string;
let identity: SelfSigned;
let served: ServedSheaf;
let port: number;

beforeAll(async () => {
  folder = await temporaryFolder();
  cert = join(folder, "cert.pem");
  key = join(folder, "key.pem");
  identity = replaceFiles();
  served = await ServedSheaf.launch({
    args: ["--tls-cert", cert, "--tls-key", key, "--role", "search"],
    env: { SHEAF_LOG_LEVEL: "info", SHEAF_MAX_CONNECTIONS: "100" },
  });
  port = Number(new URL(served.url).port);
  await vi.waitUntil(async () => (await ask("/readyz").catch(() => 0)) === 200, { timeout: 30_000 });
});

afterAll(async () => {
  await served.dispose();
  rmSync(folder, { recursive: true });
});

function replaceFiles(): SelfSigned {
  const made = selfSigned();
  writeFileSync(cert, made.certificate);
  writeFileSync(key, made.key);
  return made;
}

/** Gives the status, of a connection of its own that trusts the certificate that the server began with. */
function ask(path: string, body: string | null = null): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { "x-chroma-token": ROOT_KEY, "content-type": "application/json" };
    const method = body === null ? "GET" : "POST";
    const options = {
      host: "localhost",
      port,
      path,
      method,
      headers,
      agent: false,
      ca: identity.certificate,
    };
    request(options, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    })
      .once("error", reject)
      .end(body ?? undefined);
  });
}

async function shownCertificate(): Promise<DetailedPeerCertificate> {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerCertificate(true);
  socket.destroy();
  return certificate;
}

async function reload(line: string): Promise<void> {
  const before = served.output.length;
  served.process.kill("SIGHUP");
  await expect.poll(() => served.output.slice(before)).toContain(line);
}

describe("sheaf serve --tls-cert --tls-key", () => {
  it("says where it listens, and answers small and large requests", async () => {
    expect(served.output).toContain(`Sheaf listens on https://127.0.0.1:${port}`);
    expect(await ask("/api/v2/tenants/default_tenant")).toBe(200);
    const collections = "/api/v2/tenants/default_tenant/databases/default_database/collections";
    expect(await ask(collections, JSON.stringify({ name: "notes" }))).toBe(200);
    const padding = " ".repeat(4 * 1024 * 1024);
    expect(await ask(collections, JSON.stringify({ name: "more" }) + padding)).toBe(200);
    expect(await ask(collections, `{${padding}`)).toBe(400);
  });

  it("is found by the command, which says what to do about a certificate, a name and plain HTTP", async () => {
    const health = async (url: string, trusted: boolean): Promise<string> => {
      const env = { ...process.env, ...(trusted ? { NODE_EXTRA_CA_CERTS: cert } : {}) };
      const run = promisify(execFile)(process.execPath, [COMMAND, "health", "--url", url], { env });
      const { stdout, stderr } = await run.catch((error: unknown) => error as Record<string, string>);
      return `${stdout}${stderr}`;
    };
    expect(await health(served.url.replace("http:", "https:"), true)).toContain("is ready");
    expect(await health(served.url.replace("http:", "https:"), false)).toContain("NODE_EXTRA_CA_CERTS");
    expect(await health(served.url, true)).toContain("with https if it speaks TLS");
    const elsewhere = createServer({ cert: identity.certificate, key: identity.key }).listen(0, "127.0.0.2");
    await once(elsewhere, "listening");
    const { port: other } = elsewhere.address() as AddressInfo;
    const said = await health(`https://127.0.0.2:${other}`, true);
    elsewhere.close();
    expect(said).toContain("a name that is in its certificate");
    expect(said).not.toContain("NODE_EXTRA_CA_CERTS");
  });

  it("ends a connection that speaks plain HTTP, and goes on", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.end("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket.resume(), "close");
    expect(await ask("/livez")).toBe(200);
  });

  it("serves others while more connections than it keeps never finish their handshake", async () => {
    const sockets: Socket[] = [];
    for (let count = 0; count < UNFINISHED; count++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      sockets.push(socket);
      if (count % 100 === 0) await once(socket, "connect");
    }
    await Promise.all(
      sockets.filter(({ connecting }) => connecting).map((socket) => once(socket, "connect")),
    );
    expect(await ask("/livez")).toBe(200);
    await expect
      .poll(() => sockets.filter(({ readyState }) => readyState !== "open").length)
      .toBeGreaterThan(70);
    for (const socket of sockets) socket.destroy();
  });

  it("shows a new certificate to new connections after SIGHUP", async () => {
    const before = await shownCertificate();
    const { certificate } = replaceFiles();
    await reload("read the certificate again");
    const after = await shownCertificate();
    expect(after.fingerprint256).not.toBe(before.fingerprint256);
    identity = { ...identity, certificate };
    expect(await ask("/livez")).toBe(200);
  });

  it.each<[string, () => void, string]>([
    ["a file that is gone", () => rmSync(cert), "cannot be read: ENOENT"],
    [
      "half a file",
      () => writeFileSync(cert, identity.certificate.slice(0, 200)),
      "holds no certificate in PEM",
    ],
    ["the key of another", () => writeFileSync(key, selfSigned().key), "is not the key of the certificate"],
    ["an empty key", () => writeFileSync(key, ""), "is empty"],
  ])("keeps the certificate where a reload finds %s, and logs it", async (_what, spoil, line) => {
    const before = await shownCertificate();
    spoil();
    await reload(line);
    expect(served.output).toContain("the one before stays in use");
    expect((await shownCertificate()).fingerprint256).toBe(before.fingerprint256);
    const { certificate } = replaceFiles();
    await reload("read the certificate again");
    identity = { ...identity, certificate };
    expect(await ask("/livez")).toBe(200);
    expect((await shownCertificate()).fingerprint256).not.toBe(before.fingerprint256);
  });
});

it("refuses files that cannot be used before anything is begun, with exit code 2 and one line", () => {
  const data = join(folder, "unused");
  const args = ["--tls-cert", key, "--tls-key", key, "--port", "0", "--data", data];
  const { status, stderr } = spawnSync(process.execPath, [COMMAND, "serve", ...args], { encoding: "utf8" });
  expect({ status, made: existsSync(data) }).toEqual({ status: 2, made: false });
  expect(stderr).toContain(`sheaf: --tls-cert: ${key} holds no certificate in PEM\n`);
  expect(stderr).not.toContain("    at ");
});

it("warns of a certificate that has expired, and serves", async () => {
  const old = selfSigned("20210101000000Z");
  writeFileSync(cert, old.certificate);
  writeFileSync(key, old.key);
  const second = await ServedSheaf.launch({
    args: ["--tls-cert", cert, "--tls-key", key, "--role", "search"],
  });
  await expect.poll(() => second.output).toContain("Sheaf listens on https");
  expect(second.output).toContain("the certificate of --tls-cert has expired");
  await second.dispose();
});
