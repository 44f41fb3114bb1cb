/**
 * npm `chromadb`, unchanged: `CloudClient` and `AdminCloudClient`, which speak TLS and nothing else, with a proxy before
 * the server. They run in a process of their own, because trust in a certificate is settled when Node starts.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { startTlsProxy, type TlsProxy } from "./testing/tls-proxy.ts";

const PROGRAM = fileURLToPath(new URL("testing/cloud-program.mjs", import.meta.url));

let served: ServedSheaf;
let proxy: TlsProxy;
let folder: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  proxy = await startTlsProxy(served.url);
  folder = await mkdtemp(join(tmpdir(), "sheaf-cloud-"));
});

afterAll(async () => {
  await proxy.close();
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

describe("CloudClient and AdminCloudClient", () => {
  it("run unchanged against a server behind TLS, given its address and a key", async () => {
    const certificate = join(folder, "certificate.pem");
    await writeFile(certificate, proxy.certificate);
    const bound = { name: "bound", tenant: "default_tenant", database: "default_database", scopes: ["read"] };
    const { key: boundKey } = await served.ask<{ key: string }>("/api/v2/keys", bound);
    const { host, port } = proxy;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("CHROMA_"));
    await expect(
      promisify(execFile)(
        process.execPath,
        [PROGRAM, JSON.stringify({ host, port, apiKey: ROOT_KEY, boundKey })],
        { env: { ...Object.fromEntries(inherited), NODE_EXTRA_CA_CERTS: certificate } },
      ),
    ).resolves.toMatchObject({ stderr: "" });
  });
});
