/** Making, looking into, renaming and deleting collections and databases. */
import { SheafClient } from "@sheaf/client";
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES, ROOT_KEY } from "./testing/filled-server.ts";

const lane = new ConsoleLane();

describe("collections", () => {
  it("are made, with what the server embeds and how it cuts", async () => {
    const console = await lane.open();
    const { page } = console;
    await page.getByRole("button", { name: "Make a collection" }).click();
    const dialog = page.getByRole("dialog", { name: "A new collection" });
    await dialog.getByLabel("Name").fill(NOTES);
    await dialog.getByLabel("Documents are cut").selectOption("by Markdown headings");
    await dialog.getByLabel("Tokens of a chunk at most").fill("100");
    await dialog.getByLabel("Metric").selectOption("ip");
    await console.expectAccessible();
    await dialog.getByRole("button", { name: "Make the collection" }).click();
    await dialog.getByRole("alert").getByText("already exists").waitFor();
    await dialog.getByLabel("Name").fill("made-here");
    await dialog.getByRole("button", { name: "Make the collection" }).click();
    await page.getByRole("heading", { name: "made-here" }).waitFor();
    const { info } = await lane.server.client.getCollection({ name: "made-here" });
    expect(info.schema.chunking).toMatchObject({ by: "headings", size: 100 });
    expect(Object.keys(info.schema.keys ?? {})).toEqual(expect.arrayContaining(["#embedding", "bm25"]));
    await page.getByRole("button", { name: "Settings" }).click();
    const settings = page.getByRole("dialog", { name: "made-here" });
    await settings.getByText("by headings, into 100 tokens at most").waitFor();
    await settings.getByText("ip", { exact: true }).waitFor();
    await console.expectAccessible();
    console.expectQuiet();
  });

  it("get another name, and are deleted once theirs is typed", async () => {
    await lane.server.client.createCollection({ name: "old-name" });
    const console = await lane.open();
    const { page } = console;
    await page.getByRole("link", { name: "Settings of old-name" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("records bring them").waitFor();
    await dialog.getByText("Rename it").click();
    await dialog.getByLabel(/^Name/u).fill("new-name");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("link", { name: "Settings of new-name" }).click();
    await dialog.getByText("Delete the collection new-name").click();
    const end = dialog.getByRole("button", { name: "Delete the collection" });
    const typed = dialog.getByLabel("Type its name to delete it for good");
    await typed.fill("old-name");
    expect(await end.isDisabled()).toBe(true);
    await typed.fill("new-name");
    await end.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Settings of new-name" }).waitFor({ state: "detached" });
    const names = (await lane.server.client.listCollections()).map(({ info }) => info.name);
    expect(names).not.toContain("new-name");
    expect(names).toContain(NOTES);
    console.expectQuiet();
  });

  it("are looked into and no more by a key that reads", async () => {
    const console = await lane.open({ key: lane.server.readKey });
    const { page } = console;
    await page.getByRole("link", { name: `Settings of ${NOTES}` }).click();
    const dialog = page.getByRole("dialog", { name: NOTES });
    await dialog.getByText("bm25 (sheaf/bm25)").waitFor();
    expect(await page.getByText(/Rename|Delete|Make a collection|Databases/u).count()).toBe(1);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await console.go("#/overview?manage=new");
    await page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    console.expectQuiet();
  });
});

describe("databases", () => {
  it("are made and deleted", async () => {
    const tenant = new SheafClient({ url: lane.server.url, key: ROOT_KEY, tenant: "acme" });
    const console = await lane.open({ place: "#/overview/acme" });
    const { page } = console;
    const databases = async (): Promise<readonly string[]> =>
      (await tenant.listDatabases()).map(({ name }) => name);
    await page.getByRole("button", { name: "Databases" }).click();
    const dialog = page.getByRole("dialog", { name: "Databases" });
    await dialog.getByLabel("Name of a new database").fill("second");
    await console.expectAccessible();
    await dialog.getByRole("button", { name: "Make the database" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await databases()).toContain("second");
    await page.getByRole("button", { name: "Databases" }).click();
    await dialog.getByText("Delete the database second").click();
    await dialog.getByLabel("Type its name to delete it for good").first().fill("second");
    await dialog.getByRole("button", { name: "Delete the database", disabled: false }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await databases()).not.toContain("second");
    console.expectQuiet();
  });
});
