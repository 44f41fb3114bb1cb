/** The flows of a person: sign in, look around, browse and change data, search and learn why, make keys. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { type FilledServer, NOTES, ROOT_KEY, startFilledServer } from "./testing/filled-server.ts";
import { ARTEFACTS, OpenedConsole, launchBrowser } from "./testing/opened-console.ts";

const run = promisify(execFile);

let server: FilledServer;
let browser: Browser;
const opened: OpenedConsole[] = [];

beforeAll(async () => {
  [server, browser] = await Promise.all([startFilledServer(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.served.stop();
  console.log(`screenshots: ${ARTEFACTS}`);
});
afterEach(async () => {
  const last = opened.splice(0);
  for (const console of last) await console.close();
});

async function open(options: Partial<Parameters<typeof OpenedConsole.open>[1]> = {}): Promise<OpenedConsole> {
  const made = await OpenedConsole.open(browser, { url: server.url, key: ROOT_KEY, ...options });
  opened.push(made);
  return made;
}

/** Inside the round corners of the map, and outside of its points. */
const EDGE = 10;

const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;

describe("signing in", () => {
  it("refuses a wrong key, takes a right one, keeps it in the tab only, and forgets it", async () => {
    const console = await OpenedConsole.open(browser, { url: server.url });
    opened.push(console);
    const { page } = console;
    await page.getByLabel("API key").fill("no-key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await console.expectAccessible();
    await console.signIn(ROOT_KEY);
    await page.reload();
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    expect(page.url()).not.toContain(ROOT_KEY);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(ROOT_KEY);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    console.expectQuiet();
  });

  it("offers a key that reads no more than reading", async () => {
    const console = await open({ key: server.readKey, place: at("data") });
    const { page } = console;
    await page.getByRole("button", { name: "note-1" }).click();
    await page.getByRole("heading", { name: "Metadata" }).waitFor();
    for (const name of ["Edit", "Delete", "Add a record", "Import files", "Keys"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    console.expectQuiet();
  });
});

describe("the overview", () => {
  it("shows the tenant, its collections and the last hour", async () => {
    const console = await open();
    const { page } = console;
    const row = page.getByRole("row").filter({ hasText: NOTES });
    await row.getByText("sentence-transformers/all-MiniLM-L6-v2").waitFor();
    expect(await row.innerText()).toMatch(/6[\s\S]*384[\s\S]*100 %[\s\S]*(?:just now|min ago)/u);
    await page.getByRole("group", { name: "Processes" }).getByText("engine host: never ended").waitFor();
    await console.expectAccessible();
    await console.picture("overview");
    globalThis.console.log(`LCP ${Math.round(await console.largestContentfulPaint())} ms`);
    await row.getByRole("button", { name: NOTES }).click();
    await page.getByRole("button", { name: "note-1" }).waitFor();
    console.expectQuiet();
  });
});

describe("the first load", () => {
  it("takes at most 350 kB, compressed", async () => {
    const console = await OpenedConsole.open(browser, { url: server.url });
    opened.push(console);
    const sizes = new Map<string, number>();
    console.page.on("response", (response) => {
      if (!response.url().includes("/assets/")) return;
      void response.body().then(
        (body) => sizes.set(response.url(), gzipSync(body).length),
        () => undefined,
      );
    });
    await console.page.reload();
    await console.signIn(ROOT_KEY);
    await console.page.getByRole("row").filter({ hasText: NOTES }).waitFor();
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    globalThis.console.log(`first load: ${Math.round(bytes / 1_000)} kB in ${sizes.size} files`);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(350_000);
    console.expectQuiet();
  });

  it("asks for no key where the server asks for none", async () => {
    const open = await ServedSheaf.start({ args: ["--auth", "off"] });
    const console = await OpenedConsole.open(browser, { url: open.url });
    opened.push(console);
    const { page } = console;
    await page.getByText("There are no collections yet.").waitFor();
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await console.expectAccessible();
    console.expectQuiet();
    await open.stop();
  });
});

describe("the data browser", () => {
  it("filters by a click on a value and by JSON that is checked as it is typed", async () => {
    const console = await open({ place: at("data") });
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
    await console.picture("data");
    await page.goBack();
    await page.getByText("3 records match").waitFor();
    console.expectQuiet();
  });

  it("adds, changes and deletes a record", async () => {
    const console = await open({ place: at("data") });
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
    const [stored] = await server.notes.get({ ids: ["new-note"] });
    expect(stored).toMatchObject({ metadata: { room: "shore", depth: 2.5 } });
    await page.getByRole("button", { name: "new-note" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete it for good" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await server.notes.get({ ids: ["new-note"] })).toEqual([]);
    console.expectQuiet();
  });

  it("imports files, embeds them, and exports what a spreadsheet takes for no formula", async () => {
    const collection = await server.client.createCollection({
      name: "imported",
      schema: server.notes.info.schema,
    });
    const console = await open({ place: "#/data/default_tenant/default_database/imported" });
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

describe("the search playground", () => {
  it("writes the dictionary from the form, finds, explains and says why not", async () => {
    const console = await open({ place: at("search") });
    const { page } = console;
    await page.getByLabel("Text").fill("ships in the harbour");
    await page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    const dictionary = page.getByRole("textbox", { name: "Dictionary" });
    expect(JSON.parse(await dictionary.inputValue())).toMatchObject({ rank: { $mul: expect.any(Array) } });
    expect(await page.locator("mark").first().innerText()).toMatch(/ships|harbour/iu);
    await page
      .getByText(/harbour \d/u)
      .first()
      .waitFor();
    await page.getByLabel("Results", { exact: true }).and(page.locator("input")).fill("2");
    await page.getByLabel("Why not this record?").fill("note-3, nobody");
    await page.getByText("The collection has no such record.").waitFor();
    await page.getByText(/Its place is \d/u).waitFor();
    await console.expectAccessible();
    await console.picture("search");
    console.expectQuiet();
  });

  it("reads the form from the dictionary, and shows problems where they are", async () => {
    const console = await open({ place: at("search") });
    const { page } = console;
    const dictionary = page.getByRole("textbox", { name: "Dictionary" });
    await dictionary.fill(
      '{"rank": {"$knn": {"query": "bread", "key": "#embedding", "limit": 5}}, "limit": {"limit": 3}}',
    );
    await page.getByRole("region", { name: "Results" }).getByText("note-6").waitFor();
    expect(await page.getByLabel("Text").inputValue()).toBe("bread");
    await dictionary.fill('{"rnk": {}}');
    await page.getByRole("button", { name: /searches\[0\]\.rnk: is unknown/u }).click();
    const selected = await dictionary.evaluate((area: HTMLTextAreaElement) =>
      area.value.slice(area.selectionStart, area.selectionEnd),
    );
    expect(selected).toBe('"rnk"');
    await page.getByText("The dictionary has what this form does not show.").waitFor();
    console.expectQuiet();
  });

  it("compares two searches, copies one without the key, and is a link", async () => {
    const console = await open({ place: at("search") });
    const { page } = console;
    await page.getByLabel("Text").fill("bread");
    await page.getByRole("region", { name: "Results" }).getByText("note-6").waitFor();
    await page.getByRole("button", { name: "Keep to compare" }).click();
    await page.getByLabel("Text").fill("ships");
    await page
      .getByRole("region", { name: "Results", exact: true })
      .getByText(/^(?:up|down) \d|^new$/u)
      .first()
      .waitFor();
    const copied = async (language: string): Promise<string> => {
      await page.getByRole("button", { name: language, exact: true }).click();
      const program = await page.getByRole("dialog").locator("pre").innerText();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      return program;
    };
    const programs = {
      sh: ["-c", await copied("curl")],
      [process.execPath]: ["--input-type=module", "-e", await copied("TypeScript")],
    };
    const env = { ...process.env, SHEAF_KEY: ROOT_KEY };
    for (const [command, args] of Object.entries(programs)) {
      expect(args.join(" ")).not.toContain(ROOT_KEY);
      expect((await run(command, args, { env })).stdout).toMatch(/note-[12]/u);
    }
    expect(await copied("Python")).toContain('os.environ["SHEAF_KEY"]');
    const link = new URL(page.url()).hash;
    const other = await open({ place: link });
    await other.page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    expect(await other.page.getByLabel("Text").inputValue()).toBe("ships");
    console.expectQuiet();
    other.expectQuiet();
  });
});

describe("the lab and the keys", () => {
  it("embeds texts, compares them and shows the terms of sparse vectors", async () => {
    const console = await open({ place: "#/lab" });
    const { page } = console;
    await page.getByLabel("Texts, one a line").fill("ships in the harbour\nboats at sea");
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    await page.getByRole("region", { name: "Similarities" }).waitFor();
    await page.getByRole("combobox", { name: "Model" }).selectOption("sheaf/bm25");
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    await page.getByText(/^harbour · /u).waitFor();
    expect(await page.getByText("in memory").count()).toBeGreaterThan(0);
    await console.expectAccessible();
    await console.picture("lab");
    console.expectQuiet();
  });

  it("lays records out on a map, by two methods, and filters by a loop", async () => {
    const console = await open({ place: at("map", "?colour=room") });
    const { page } = console;
    await page.getByRole("img", { name: "A map of 6 records by pca" }).waitFor();
    const map = page.getByRole("img", { name: "A map of 6 records by umap" });
    await page.getByLabel("Layout").selectOption("umap");
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
    const console = await open({ place: "#/keys" });
    const { page } = console;
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("from the console");
    await page.getByText("Limits", { exact: true }).and(page.locator("summary")).click();
    await page.getByLabel("Requests a minute").fill("1200");
    await console.expectAccessible();
    await page.getByRole("button", { name: "Make the key" }).click();
    const text = await page.getByRole("dialog").locator("pre").innerText();
    expect(text).toMatch(/^sheaf_/u);
    await page.getByRole("button", { name: "Close" }).click();
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

describe("the page around the views", () => {
  it("goes anywhere by keyboard", async () => {
    const console = await open();
    const { page } = console;
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /View, collection/u }).fill(`data of ${NOTES}`);
    await page.getByRole("option", { name: `Data of ${NOTES}` }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "note-1" }).waitFor();
    await page.locator("main").focus();
    await page.keyboard.press("/");
    expect(await page.getByLabel("Filter").evaluate((field) => field === document.activeElement)).toBe(true);
    console.expectQuiet();
  });

  it("is dark where the system is, and fits a narrow screen", async () => {
    const console = await open({ place: at("search"), width: 380, colorScheme: "dark" });
    const { page } = console;
    await page.getByLabel("Text").fill("ships");
    await page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    expect(await console.overflow()).toBeLessThanOrEqual(0);
    await console.expectAccessible();
    await console.screenshot("search-narrow-dark");
    console.expectQuiet();
  });
});
