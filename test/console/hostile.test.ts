/** Whatever somebody has stored, no view of the console runs it, follows it or loads it. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { hybridSchema } from "@sheaf/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FilledServer, NOTES, ROOT_KEY, startFilledServer } from "./testing/filled-server.ts";
import { OpenedConsole, launchBrowser } from "./testing/opened-console.ts";

const HOSTILE = [
  `<img src=x onerror="alert(1)">`,
  "</script><script>alert(2)</script>",
  "[a link](javascript:alert(3)) and [another](data:text/html,<script>alert(4)</script>)",
  "![a picture](http://evil.example/pixel.png) <iframe src='http://evil.example'></iframe>",
  `"><svg onload=alert(5)> ships \u202e\u0000 {{7*7}} \${alert(6)}`,
];
const NAME = "hostile";

let server: FilledServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startFilledServer(), launchBrowser()]);
  const { client } = server;
  const collection = await client.createCollection({ name: NAME, schema: hybridSchema() });
  const records = HOSTILE.map((text, i) => ({
    id: `${i} ${text}`,
    document: `${text} ships`,
    metadata: { [`<b onclick="alert(7)">${i}`]: text, constructor: text, room: text },
  }));
  await collection.add({ records });
  // Without the keys that the others have.
  await collection.add({ records: [{ id: "plain", document: "ships" }] });
  // Names of functions that a server does not have are kept as they are.
  const name = HOSTILE[0]!;
  const configuration = { embedding_function: { type: "known", name, config: {} } } as const;
  await client.createCollection({ name: "other-function", configuration });
  await client.createTenant({ name: HOSTILE[1]! });
  for (const name of HOSTILE.slice(0, 4)) await client.createKey({ name, tenant: null, scopes: ["read"] });
});
afterAll(async () => {
  await browser?.close();
  await server?.served.stop();
});

const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NAME}${query}`;

describe("hostile content", () => {
  it("is text in every view", async () => {
    const console = await OpenedConsole.open(browser, {
      url: server.url,
      key: ROOT_KEY,
      place: "#/overview",
    });
    const { page } = console;
    await page.getByRole("button", { name: NAME }).waitFor();
    await page.getByRole("cell", { name: HOSTILE[0]! }).waitFor();
    await page
      .getByRole("row")
      .filter({ hasText: "other-function" })
      .getByRole("link", { name: "Settings" })
      .click();
    const settings = page.getByRole("dialog");
    await settings.getByText(HOSTILE[0]!).first().waitFor();
    expect(await settings.locator("img, script, iframe").count()).toBe(0);
    await settings.getByRole("button", { name: "Close" }).click();
    await settings.waitFor({ state: "detached" });
    await console.go(`#/overview/${encodeURIComponent(HOSTILE[1]!)}`);
    await page.getByRole("heading", { name: HOSTILE[1]! }).waitFor();
    await console.go(at("data"));
    for (const [i] of HOSTILE.entries()) {
      await page
        .getByRole("button", { name: new RegExp(`^${i} `, "u") })
        .first()
        .click();
      const dialog = page.getByRole("dialog");
      for (const form of ["Markdown", "JSON", "Text"])
        await dialog.getByRole("button", { name: form, exact: true }).click();
      await dialog.getByRole("button", { name: "Markdown", exact: true }).click();
      await dialog.locator(".markdown").waitFor();
      expect(
        await dialog.locator("img, iframe, script, svg, a[href^='javascript'], a[href^='data']").count(),
      ).toBe(0);
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await page
      .getByRole("button", { name: /evil\.example/u })
      .first()
      .waitFor();
    const filter = page.getByLabel("Filter");
    await filter.pressSequentially('{"<b');
    const key = `<b onclick="alert(7)">0`;
    await page.getByRole("listbox", { name: "Words" }).getByRole("option", { name: key }).click();
    expect(await filter.inputValue()).toBe(`{${JSON.stringify(key)}: `);
    await page.getByRole("button", { name: "Import files" }).click();
    const buffer = Buffer.from(`{"id": ${JSON.stringify(HOSTILE[0])}, "text": "x"}\n<svg onload=alert(11)>`);
    await page
      .getByLabel("Files", { exact: true })
      .setInputFiles([{ name: `${HOSTILE[0]!.replaceAll("/", "")}.jsonl`, mimeType: "text/plain", buffer }]);
    await page.getByText("line 2:").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await console.go(
      at(
        "search",
        `?${new URLSearchParams({ search: '{"rank":{"$knn":{"query":"ships","key":"bm25"}}}' }).toString()}`,
      ),
    );
    await page.locator(".hit mark").first().waitFor();
    for (const language of ["curl", "TypeScript", "Python"]) {
      await page.getByRole("button", { name: language, exact: true }).click();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.getByLabel("Why not this record?").fill(HOSTILE[0]!);
    await page.getByText("The collection has no such record.").waitFor();
    await console.go(at("map", "?colour=room"));
    await page.getByRole("img", { name: "A map of 6 records by pca" }).hover();
    await console.go("#/keys");
    await page.getByText(HOSTILE[0]!).waitFor();
    await console.go(`#/lab?${new URLSearchParams({ texts: HOSTILE.join("\n") }).toString()}`);
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    await page.getByRole("region", { name: "Similarities" }).waitFor();
    for (const place of [
      "#/<script>alert(8)</script>",
      "#/data/%E0%A4%A/<img src=x onerror=alert(9)>",
      "#/search?search=<svg onload=alert(10)>",
    ])
      await console.go(place);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    console.expectQuiet();
    await console.close();
  });
});

describe("texts that take a parser long", () => {
  it.each([
    ["emphasis", "*a_ ".repeat(10_000), "Only documents of up to 10,000 characters"],
    ["quotes", ">".repeat(5_000), "It is nested too deeply to be shown as Markdown."],
    ["objects", `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`, "It is nested too deeply to be indented."],
  ])("are shown as they are: %s", async (id, document, says) => {
    await server.client
      .getCollection({ name: NAME })
      .then((all) => all.upsert({ records: [{ id, document: "x" }] }));
    const console = await OpenedConsole.open(browser, {
      ...{ url: server.url, key: ROOT_KEY, place: "#/data" },
    });
    const { page } = console;
    // What no model takes is stored by programs that bring vectors.
    await page.route("**/get", async (route) => {
      const reply = await route.fetch();
      const body = (await reply.json()) as { readonly ids: readonly string[]; documents: readonly string[] };
      const documents = body.ids.map((known, i) => (known === id ? document : body.documents[i]!));
      await route.fulfill({ response: reply, json: { ...body, documents } });
    });
    await console.go(at("data", `?record=${id}`));
    const dialog = page.getByRole("dialog");
    for (const form of ["Markdown", "JSON"])
      await dialog.getByRole("button", { name: form, exact: true }).click();
    if (!says.includes("indented"))
      await dialog.getByRole("button", { name: "Markdown", exact: true }).click();
    await dialog.getByText(says).waitFor();
    expect(await dialog.locator("em, strong, blockquote").count()).toBe(0);
    console.expectQuiet();
    await console.close();
  });
});

describe("behind a proxy that adds a prefix", () => {
  it("finds its files and the API", async () => {
    const target = new URL(server.url);
    const proxy = createServer((incoming, outgoing) => {
      const path = (incoming.url ?? "").replace(/^\/some\/prefix/u, "");
      const { method, headers } = incoming;
      const passed = request({ host: target.hostname, port: target.port, path, method, headers }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/some/prefix`;
    const console = await OpenedConsole.open(browser, { url, key: ROOT_KEY });
    const { page } = console;
    await page.getByRole("button", { name: NOTES }).waitFor();
    const place = (view: string): string => `#/${view}/default_tenant/default_database/${NOTES}`;
    await console.go(place("data"));
    await page.getByRole("button", { name: "note-1" }).waitFor();
    await console.go(place("map"));
    await page.getByRole("img", { name: "A map of 6 records by pca" }).waitFor();
    await console.page.goto(`${url}/`);
    await console.page.getByRole("button", { name: NOTES }).waitFor();
    expect(console.page.url()).toBe(`${url}/console/`);
    console.expectQuiet();
    await console.close();
    proxy.closeAllConnections();
    await new Promise<void>((resolve) => proxy.close(() => resolve()));
  });
});
