/** What keys that may not do everything see of each view, and every view on a narrow screen in both themes. */
import { type KeyScope, SheafClient } from "@sheaf/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FilledServer, NOTES, ROOT_KEY, startFilledServer } from "./testing/filled-server.ts";
import { OpenedConsole, launchBrowser } from "./testing/opened-console.ts";

const ALL = ["Overview", "Data", "Search", "Embedding lab", "Map", "Keys"];
const NARROW = 380;

let server: FilledServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startFilledServer(), launchBrowser()]);
  await new SheafClient({ url: server.url, key: ROOT_KEY, tenant: "acme" }).createDatabase({ name: "own" });
});
afterAll(async () => {
  await browser?.close();
  await server?.served.stop();
});

async function openWith(scopes: readonly KeyScope[], place = "", database?: string): Promise<OpenedConsole> {
  const bound = database === undefined ? {} : { database };
  const tenant = database === undefined ? "default_tenant" : "acme";
  const { key } = await server.client.createKey({ name: scopes.join(), tenant, ...bound, scopes });
  return OpenedConsole.open(browser, { url: server.url, key, place });
}

async function viewsOf({ page }: OpenedConsole): Promise<readonly string[]> {
  const names = await page.getByRole("navigation", { name: "Views" }).getByRole("link").allInnerTexts();
  return ALL.filter((view) => names.some((name) => name.endsWith(view)));
}

const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;
const SEARCH = `?${new URLSearchParams({ search: '{"rank":{"$knn":{"query":"ships"}}}' }).toString()}`;

describe("a key of one tenant", () => {
  it("that reads sees its tenant, and neither the server nor models nor keys", async () => {
    const console = await openWith(["read"]);
    const { page } = console;
    expect(await viewsOf(console)).toEqual(["Overview", "Data", "Search", "Map"]);
    await page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    expect(await page.getByRole("region", { name: "Server" }).count()).toBe(0);
    expect(await page.getByLabel("Tenant").locator("option").allInnerTexts()).toEqual(["default_tenant"]);
    await console.go(at("search", SEARCH));
    await page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    await console.go(at("map"));
    await page.getByRole("img", { name: "A map of 6 records by pca" }).waitFor();
    for (const view of ["keys", "lab"]) {
      await console.go(`#/${view}`);
      await page.getByText("The key may not use this view.").waitFor();
    }
    console.expectQuiet();
    await console.close();
  });

  it("that writes may change records", async () => {
    const console = await openWith(["read", "write"], at("data"));
    const { page } = console;
    await page.getByRole("button", { name: "Import files" }).waitFor();
    await page.getByRole("button", { name: "note-1" }).click();
    await page.getByRole("button", { name: "Edit" }).waitFor();
    expect(await viewsOf(console)).not.toContain("Keys");
    console.expectQuiet();
    await console.close();
  });

  it("that embeds has the lab, and fetches no models", async () => {
    const console = await openWith(["embed"]);
    const { page } = console;
    expect(await viewsOf(console)).toEqual(["Overview", "Embedding lab"]);
    await page.getByText("The key does not read collections.").waitFor();
    await console.go("#/lab");
    await page.getByText("not here").first().waitFor();
    expect(await page.getByRole("button", { name: "Fetch" }).count()).toBe(0);
    console.expectQuiet();
    await console.close();
  });

  it("and of one database sees nothing else, whatever a link names", async () => {
    const console = await openWith(["read"], "", "own");
    const { page } = console;
    await page.getByRole("heading", { name: "acme" }).waitFor();
    await page.getByText("There are no collections yet.").waitFor();
    await console.go(at("data"));
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Database").locator("option").allInnerTexts()).toEqual(["own"]);
    console.expectQuiet();
    await console.close();
  });
});

describe.each(["light", "dark"] as const)("on a narrow screen, %s", (colorScheme) => {
  it("every view is accessible and as wide as the screen", async () => {
    const console = await OpenedConsole.open(browser, {
      ...{ url: server.url, key: ROOT_KEY, width: NARROW, colorScheme },
    });
    const { page } = console;
    const shown = [
      ["#/overview", page.getByRole("row").filter({ hasText: NOTES })],
      [at("data"), page.getByRole("button", { name: "note-1" })],
      [at("search", SEARCH), page.getByRole("region", { name: "Results" }).getByText("note-1")],
      ["#/lab", page.getByRole("button", { name: "Embed", exact: true })],
      [at("map"), page.getByRole("img", { name: /^A map of/u })],
      ["#/keys", page.getByRole("row").filter({ hasText: "reader" })],
    ] as const;
    for (const [place, sign] of shown) {
      await console.go(place);
      await sign.first().waitFor();
      await console.expectAccessible();
      expect(await console.overflow()).toBeLessThanOrEqual(0);
    }
    console.expectQuiet();
    await console.close();
  });
});
