/** The embedding lab, a small map, and the keys. */
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES } from "./testing/filled-server.ts";

const lane = new ConsoleLane();
/** Inside the round corners of the map, and outside of its points. */
const EDGE = 10;
const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;

describe("the lab and the keys", () => {
  it("embeds texts, compares them and shows the terms of sparse vectors", async () => {
    const console = await lane.open({ place: "#/lab" });
    const { page } = console;
    await page.getByLabel("Texts, one a line").fill("ships in the harbour\nboats at sea");
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    await page.getByRole("region", { name: "Similarities" }).waitFor();
    await page.getByText("11 tokens in 2 texts.").waitFor();
    const read = page.getByRole("region", { name: "Tokens of text 1" });
    await read.getByText("6 tokens").waitFor();
    expect(await read.locator("code").allInnerTexts()).toEqual([
      "[CLS]",
      "ships",
      "in",
      "the",
      "harbour",
      "[SEP]",
    ]);
    await console.expectAccessible();
    await page.getByRole("combobox", { name: "Model" }).selectOption("sheaf/bm25");
    await page.getByText(/^harbour · /u).waitFor();
    await read.getByText("2 tokens").waitFor();
    expect(await read.locator("code").allInnerTexts()).toEqual(["ships", "harbour"]);
    const link = await lane.open({ place: new URL(page.url()).hash });
    await link.page.getByText(/^harbour · /u).waitFor();
    expect(await link.page.getByLabel("Texts, one a line").inputValue()).toContain("boats at sea");
    link.expectQuiet();
    expect(await page.getByText("in memory").count()).toBeGreaterThan(0);
    await console.expectAccessible();
    await console.picture("lab");
    console.expectQuiet();
  });

  it("lays records out on a map, by two methods, and filters by a loop", async () => {
    const console = await lane.open({ place: at("map", "?colour=room") });
    const { page } = console;
    const byKeys = page.getByRole("img", { name: "A map of 6 records by pca" });
    await byKeys.focus();
    await page.keyboard.press("ArrowRight");
    await page
      .getByRole("status")
      .getByText(/^note-1: Ships/u)
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "note-1" }).waitFor();
    await page.goBack();
    const map = page.getByRole("img", { name: "A map of 6 records by umap" });
    await page.getByRole("combobox", { name: "Layout" }).selectOption("umap");
    await map.waitFor();
    const { x, y, width, height } = (await map.boundingBox())!;
    await page.mouse.move(x + EDGE, y + EDGE);
    await page.mouse.down();
    const [right, bottom] = [x + width - EDGE, y + height - EDGE];
    await page.mouse.move(right, y + EDGE);
    await page.mouse.move(right, bottom);
    await page.mouse.move(x + EDGE, bottom);
    await page.mouse.up();
    await console.expectAccessible();
    await console.screenshot("map");
    await page.getByRole("button", { name: "Show these 6 records" }).click();
    await page.getByText("6 records match").waitFor();
    expect(page.url()).toContain("where=");
    console.expectQuiet();
  });

  it("makes, rotates and revokes keys", async () => {
    const console = await lane.open({ place: "#/keys" });
    const { page } = console;
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("from the console");
    await page.getByText("Limits", { exact: true }).and(page.locator("summary")).click();
    await page.getByLabel("Requests a minute").fill("1200");
    await console.expectAccessible();
    await page.getByRole("button", { name: "Make the key" }).click();
    const text = await page.getByRole("dialog").locator("pre").innerText();
    expect(text).toMatch(/^sheaf_/u);
    // It is nowhere else.
    await page.keyboard.press("Escape");
    await page.mouse.click(2, 2);
    expect(await page.getByRole("dialog").locator("pre").innerText()).toBe(text);
    await page.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("row").filter({ hasText: "from the console" });
    await row.getByText("1,200 requests/min").waitFor();
    await row.getByText("never", { exact: true }).first().waitFor();
    await row.getByRole("button", { name: "Rotate" }).click();
    await row.getByLabel("The old key goes on").selectOption("an hour");
    await console.expectAccessible();
    await row.getByRole("button", { name: "Make its successor" }).click();
    expect(await page.getByRole("dialog").locator("pre").innerText()).not.toBe(text);
    await page.getByRole("button", { name: "Close" }).click();
    const rotated = row.filter({ has: page.getByRole("button", { name: "Rotate" }) });
    await rotated.getByRole("button", { name: "Revoke" }).click();
    await rotated.or(row).getByRole("button", { name: "Revoke from the console for good" }).click();
    await expect.poll(async () => row.count(), { timeout: 30_000 }).toBe(1);
    await console.expectAccessible();
    await console.screenshot("keys");
    console.expectQuiet();
  });
});
