/** The frame around the views: where the focus goes, how one gets about, and addresses that name nothing. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES } from "./testing/filled-server.ts";

const lane = new ConsoleLane();
const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;

/** What has the focus, as one would name it. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: active } = document;
    return active?.id || active?.getAttribute("aria-label") || active?.textContent?.trim() || "";
  });
}

/** Whether the browser has given the focus to nothing. */
function isLost(page: Page): Promise<boolean> {
  return page.evaluate(() => document.activeElement === document.body);
}

describe("the focus", () => {
  it("begins at the view, skips to it, and leaves it where it is", async () => {
    const console = await lane.open();
    const { page } = console;
    await page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    expect(await focused(page)).toBe("main");
    const before = await page.locator("main").boundingBox();
    const skip = page.getByRole("link", { name: "Skip to the view" });
    await skip.focus();
    expect(await page.locator("main").boundingBox()).toEqual(before);
    await console.expectAccessible();
    await page.keyboard.press("Enter");
    expect(await focused(page)).toBe("main");
    console.expectQuiet();
  });

  it("goes to the first field of a dialog, and back", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    const add = page.getByRole("button", { name: "Add a record" });
    await add.click();
    const id = page.getByLabel("Id", { exact: true });
    await expect.poll(() => id.evaluate((field) => field === document.activeElement)).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("Add a record");
    console.expectQuiet();
  });

  it("is not lost with what had it", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    const keeps = async (): Promise<void> => {
      await expect.poll(() => isLost(page)).toBe(false);
    };
    await page.getByRole("button", { name: "sea · 3" }).click();
    await page.getByText("3 records match").waitFor();
    await keeps();
    const clear = page.getByRole("button", { name: "Clear" });
    await clear.click();
    await page.getByText("6 records match").waitFor();
    await keeps();
    await page.getByRole("button", { name: "note-1" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await keeps();
    expect(await page.evaluate(() => document.activeElement?.closest("form") !== null)).toBe(true);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await keeps();
    await page.keyboard.press("Control+k");
    const typed = page.getByRole("combobox", { name: /View, collection/u });
    await typed.fill("lab");
    await page.getByRole("option", { name: "Embedding lab" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Embedding lab" }).waitFor();
    await keeps();
    console.expectQuiet();
  });

  it("comes back from the palette at Escape", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    const goTo = page.getByRole("button", { name: "Go to…" });
    await goTo.click();
    await page.getByRole("combobox", { name: /View, collection/u }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("Go to…");
    console.expectQuiet();
  });
});

describe("the views", () => {
  it("are links, all of them in sight on a narrow screen", async () => {
    const console = await lane.open({ place: at("data"), width: 380 });
    const { page } = console;
    const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
    await links.first().waitFor();
    for (const link of await links.all()) {
      const { x, width } = (await link.boundingBox())!;
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(380);
    }
    expect(await links.filter({ hasText: "Search" }).getAttribute("href")).toBe(at("search"));
    const id = page.getByRole("button", { name: "note-1" });
    const { height } = (await id.boundingBox())!;
    expect(height).toBeLessThan(40);
    await links.filter({ hasText: "Map" }).click();
    await page.getByRole("img", { name: /^A map of/u }).waitFor();
    console.expectQuiet();
  });
});

describe("an address", () => {
  it.each([
    ["#/nonsense", 'The console has no view "nonsense".'],
    ["#/data/nosuch/x/y", 'There is no tenant "nosuch".'],
    ["#/data/default_tenant/nosuch/y", 'The tenant default_tenant has no database "nosuch".'],
  ])("%s says what is missing", async (place, says) => {
    const console = await lane.open({ place });
    await console.page.getByText(says).waitFor();
    await console.expectAccessible();
    await console.page.locator("main").getByRole("link").click();
    await console.page.getByText(says).waitFor({ state: "detached" });
    expect(await console.page.getByRole("alert").count()).toBe(0);
    console.expectQuiet();
  });

  it("of another tenant says that the key is bound", async () => {
    const console = await lane.open({ key: lane.server.readKey, place: "#/overview/acme" });
    const { page } = console;
    await page
      .getByText('The link is to the tenant "acme", and the key is bound to "default_tenant".')
      .waitFor();
    await page.getByRole("link", { name: "Go to default_tenant" }).click();
    await page.getByRole("heading", { name: "default_tenant" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/overview/default_tenant");
    console.expectQuiet();
  });
});

describe("what cannot be had", () => {
  it("is said in words: a part that does not load, and a key that has ended", async () => {
    const { key } = await lane.server.client.createKey({ name: "short", tenant: null, scopes: ["read"] });
    const console = await lane.open({ key });
    const { page } = console;
    await page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    await page.route(/map-view/u, (route) => route.abort());
    await page.getByRole("link", { name: "Map" }).click();
    await page.getByText("This part of the console could not be loaded.").waitFor();
    const [made] = (await lane.server.client.listKeys({})).filter(({ name }) => name === "short");
    await lane.server.client.revokeKey({ id: made!.id });
    await console.go(at("data"));
    await page.getByRole("alert").getByRole("button", { name: "Sign out" }).first().click();
    await page.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  });
});
