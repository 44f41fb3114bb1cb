/** How the console is served: with which headers, to whom, and that nothing but its files is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, startTestApp } from "../../testing/test-app.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
  "worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

let folder: string;
let test: TestApp;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sheaf-console-files-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Sheaf</title>");
  writeFileSync(join(folder, "bundled-packages.json"), "[]");
  writeFileSync(join(folder, "assets/index-1.js"), "export {};");
  writeFileSync(join(folder, "assets/index-1.css"), "body {}");
  writeFileSync(join(folder, "assets/notes.txt"), "not an asset");
  test = await startTestApp({ consoleFolder: folder });
});
afterAll(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Without a key, as a browser asks. */
const get = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  test.app.http.inject({ method: "GET", url, headers });

describe("the console", () => {
  it.each([
    ["/console/", "text/html; charset=utf-8", "no-cache"],
    ["/console/assets/index-1.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
    ["/console/assets/index-1.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"],
  ])("%s is public, with every header it should have", async (url, type, cache) => {
    const { statusCode, headers } = await get(url);
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      "content-type": type,
      "cache-control": cache,
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
  });

  it.each([
    "notes.txt",
    "index.html",
    "..%2Findex.html",
    "%2e%2e%2fbundled-packages.json",
    "index-2.js",
    "constructor",
  ])("has no asset %s", async (name) => {
    expect((await get(`/console/assets/${name}`)).statusCode).toBe(404);
  });

  it("redirects to itself by relative addresses, whatever host is named", async () => {
    const headers = { host: "evil.example", "x-forwarded-host": "evil.example" };
    const bare = await get("/console", headers);
    expect([bare.statusCode, bare.headers.location]).toEqual([308, "console/"]);
    const browser = await get("/", { ...headers, accept: "text/html" });
    expect([browser.statusCode, browser.headers.location, browser.headers.vary]).toEqual([
      302,
      "console/",
      "accept",
    ]);
    const program = await get("/", { accept: "*/*" });
    expect([program.statusCode, program.headers.location]).toEqual([200, undefined]);
  });

  it("says how to get it where it was not built", async () => {
    const bare = await startTestApp({ consoleFolder: null });
    const reply = await bare.app.http.inject({ method: "GET", url: "/console/" });
    expect([reply.statusCode, reply.body]).toEqual([404, expect.stringContaining("npm run build")]);
    await bare.close();
  });
});

it("answers of the API are kept by nobody on the way", async () => {
  for (const request of [
    "GET /api/v2/keys",
    "GET /api/v2/tenants/default_tenant",
    "GET /api/v2/tenants/nobody",
  ])
    expect((await test.ask(request)).headers["cache-control"]).toBe("no-store");
});
