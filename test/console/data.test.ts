/** Browsing, filtering, changing, importing and exporting records. */
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES } from "./testing/filled-server.ts";

const lane = new ConsoleLane();
/** Inside of a button. */
const EDGE = 5;
const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;

describe("the data browser", () => {
  it("shows records first, and values that several of them have beside them", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    await page.getByRole("button", { name: "sea · 3" }).click();
    await page.getByText("3 records match").waitFor();
    // What is chosen does not hide the others, and a second value is taken beside it.
    await page.getByRole("button", { name: "garden · 1" }).click();
    await page.getByText("4 records match").waitFor();
    expect(await page.getByRole("button", { name: "sea · 3" }).getAttribute("aria-pressed")).toBe("true");
    await console.picture("data");
    // Each record has a year of its own.
    expect(await page.getByRole("group", { name: "year" }).count()).toBe(0);
    const { y } = (await page.getByRole("region", { name: "Records" }).boundingBox())!;
    expect(y).toBeLessThan(450);
    await page.getByRole("button", { name: "garden · 1" }).click();
    await page.getByRole("button", { name: "sea · 3" }).click();
    await page.getByText("6 records match").waitFor();
    console.expectQuiet();
  });

  it("sorts by a metadata key, on the server and in the address", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    const years = async (): Promise<readonly string[]> =>
      page.locator("section[aria-label=Records] tbody tr td:nth-child(4)").allInnerTexts();
    const year = page.getByRole("button", { name: "year", exact: true });
    const sorted = ["1998", "1999", "2001", "2003", "2010", "2012"];
    await year.click();
    await expect.poll(years).toEqual(sorted);
    await year.click();
    await expect.poll(years).toEqual(sorted.toReversed());
    const other = await lane.open({ place: new URL(page.url()).hash });
    await other.page.getByRole("columnheader", { name: "year" }).waitFor();
    expect(await other.page.getByRole("columnheader", { name: "year" }).getAttribute("aria-sort")).toBe(
      "descending",
    );
    console.expectQuiet();
    other.expectQuiet();
  });

  it("clears the text of the filter, whether it is applied or not", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    const filter = page.getByLabel("Filter", { exact: true });
    const clear = page.getByRole("button", { name: "Clear" });
    await filter.fill('{"year": 2010}');
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("1 record matches").waitFor();
    await clear.click();
    await page.getByText("6 records match").waitFor();
    expect(await filter.inputValue()).toBe("");
    await filter.fill("{");
    await clear.click();
    expect(await filter.inputValue()).toBe("");
    await page.getByLabel("Add a clause for a key").selectOption("year");
    expect(JSON.parse(await filter.inputValue())).toEqual({ year: { $gte: 0 } });
    console.expectQuiet();
  });

  it("filters by a click on a value and by JSON that is checked as it is typed", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    await page.getByRole("button", { name: "sea · 3" }).click();
    await page.getByText("3 records match").waitFor();
    expect(page.url()).toContain("where=");
    const filter = page.getByLabel("Filter");
    await filter.fill("");
    await filter.pressSequentially('{"ye');
    await page.getByRole("listbox", { name: "Words" }).getByRole("option", { name: "year" }).waitFor();
    await console.expectAccessible();
    await page.keyboard.press("Enter");
    await filter.pressSequentially('{"$gt');
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await filter.inputValue()).toBe('{"year": {"$gte": ');
    await filter.fill('{"year": {"$gt": "x", "$lt": 1}}');
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("button", { name: "Apply" }).isDisabled()).toBe(true);
    await filter.fill('{"year": {"$gte": 2010}}');
    await page.getByRole("button", { name: "Apply", disabled: false }).click();
    await page.getByText("2 records match").waitFor();
    await console.expectAccessible();
    await page.goBack();
    await page.getByText("3 records match").waitFor();
    console.expectQuiet();
  });

  it("adds, changes and deletes a record", async () => {
    const console = await lane.open({ place: at("data") });
    const { page } = console;
    await page.getByRole("button", { name: "Add a record" }).click();
    await page.getByLabel("Id").fill("new-note");
    await page.getByLabel("Document").fill("Lanterns guide the boats home.");
    await page.getByLabel("Metadata").fill('{"room": "sea", "depth": 2.5}');
    await console.expectAccessible();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "new-note" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Metadata").fill('{"room": "shore", "depth": 2.5}');
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "shore" }).waitFor();
    // An id that there is, and a record that there is no more, are said and not passed over.
    await page.getByRole("button", { name: "Add a record" }).click();
    await page.getByLabel("Id").fill("new-note");
    await page.getByLabel("Document").fill("Another one.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("There is a record new-note already.").waitFor();
    expect(await page.getByLabel("Document").inputValue()).toBe("Another one.");
    // It is not lost by a key or a click beside it.
    await page.keyboard.press("Escape");
    expect(await page.getByLabel("Document").inputValue()).toBe("Another one.");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await lane.server.notes.add({ records: [{ id: "short-lived", document: "Soon gone." }] });
    await console.go(at("data", "?record=short-lived"));
    await page.getByRole("button", { name: "Edit" }).click();
    await lane.server.notes.delete({ ids: ["short-lived"] });
    await page.getByLabel("Document").fill("Changed too late.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The record short-lived was deleted meanwhile.").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const [stored] = await lane.server.notes.get({ ids: ["new-note"] });
    expect(stored).toMatchObject({ metadata: { room: "shore", depth: 2.5 } });
    await page.getByRole("button", { name: "new-note" }).click();
    const { x, y } = (await page.getByRole("button", { name: "Delete" }).boundingBox())!;
    await page.mouse.dblclick(x + EDGE, y + EDGE);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete it for good" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await lane.server.notes.get({ ids: ["new-note"] })).toEqual([]);
    console.expectQuiet();
  });

  it("keeps what is typed while the server does not answer", async () => {
    const console = await lane.open({ place: at("data", "?record=note-2") });
    const { page } = console;
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Document").fill("Not saved yet.");
    await page.route("**/collections/**", (route) =>
      route.fulfill({ status: 404, json: { message: "gone" } }),
    );
    await page.clock.install();
    await page.clock.fastForward(10_000);
    await page.evaluate(() => dispatchEvent(new Event("visibilitychange")));
    await page.getByText("gone").first().waitFor({ state: "attached" });
    expect(await page.getByLabel("Document").inputValue()).toBe("Not saved yet.");
    console.expectQuiet();
  });

  it("imports files, embeds them, and exports what a spreadsheet takes for no formula", async () => {
    const collection = await lane.server.client.createCollection({
      name: "imported",
      schema: lane.server.notes.info.schema,
    });
    const console = await lane.open({ place: "#/data/default_tenant/default_database/imported" });
    const { page } = console;
    await page.getByRole("button", { name: "Import files" }).click();
    const file = (name: string, text: string) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(text),
    });
    await page
      .getByLabel("Files", { exact: true })
      .setInputFiles([
        file("a.jsonl", '{"id": "j1", "document": "A line.", "n": 1}\nno json\n'),
        file("b.csv", 'id,text,formula\nc1,"A ""quoted"" text",=1+1\n'),
        file("c.md", `# Long\n\n${"A sentence about the sea. ".repeat(200)}`),
      ]);
    await page.getByText("line 2:").waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: /^Import \d+ records$/u }).click();
    await page.getByText(/^(\d+) of \1 records are stored/u).waitFor();
    const pieces = await collection.get({ ids: ["c.md"] });
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces[0]).toMatchObject({ id: "c.md#0", metadata: { parent: "c.md", source: "c.md" } });
    expect(await collection.get({ ids: ["c1"] })).toMatchObject([
      { document: 'A "quoted" text', metadata: { formula: "=1+1" } },
    ]);
    await page.getByRole("button", { name: "Close" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByLabel("Export").selectOption("csv"),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toContain(`'=1+1`);
    console.expectQuiet();
  });
});
