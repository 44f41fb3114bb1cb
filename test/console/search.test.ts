/** The playground: a form and its dictionary, results and why, two searches side by side, programs to copy. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { rrf } from "@sheaf/client";
import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES, ROOT_KEY } from "./testing/filled-server.ts";

const lane = new ConsoleLane();
const run = promisify(execFile);

/** What is to be said of what a form of the text finds, by the server's own answers to both. */
async function movesBetween(before: string, now: string): Promise<readonly string[]> {
  const idsOf = async (text: string): Promise<readonly string[]> => {
    const ranks = ["#embedding", "bm25"].map((key) => ({ query: text, key, limit: 100 }));
    return (await lane.server.notes.search({ rank: rrf({ ranks }), limit: 10 })).map(({ id }) => id);
  };
  const [old, found] = await Promise.all([idsOf(before), idsOf(now)]);
  return found
    .map((id, place) => {
      const step = old.indexOf(id) - place;
      if (!old.includes(id)) return "new";
      return step === 0 ? "same place" : step > 0 ? `up ${step}` : `down ${-step}`;
    })
    .toSorted();
}
const at = (view: string, query = ""): string => `#/${view}/default_tenant/default_database/${NOTES}${query}`;

describe("the search playground", () => {
  it("writes the dictionary from the form, finds, explains and says why not", async () => {
    const console = await lane.open({ place: at("search") });
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
    const size = page.getByLabel("Results", { exact: true }).and(page.locator("input"));
    await size.fill("-3");
    await page.getByRole("alert").getByText("1 to 1,000").waitFor();
    await size.fill("2");
    await page.getByLabel("Why not this record?").fill("note-3, nobody");
    await page.getByText("The collection has no such record.").waitFor();
    await page.getByText(/Its place is \d/u).waitFor();
    await console.expectAccessible();
    await console.picture("search");
    console.expectQuiet();
  });

  it("reads the form from the dictionary, and shows problems where they are", async () => {
    const console = await lane.open({ place: at("search") });
    const { page } = console;
    const dictionary = page.getByRole("textbox", { name: "Dictionary" });
    await dictionary.fill(
      '{"rank": {"$knn": {"query": "bread", "key": "#embedding", "limit": 5}}, "limit": {"limit": 3}}',
    );
    await page.getByRole("region", { name: "Results" }).getByText("note-6").waitFor();
    expect(await page.getByLabel("Text").inputValue()).toBe("bread");
    await dictionary.fill('{"rnk": {}, "limit": {"limit": 10}}');
    await page.getByRole("button", { name: /^line 1: rnk: is unknown/u }).click();
    const selected = await dictionary.evaluate((area: HTMLTextAreaElement) =>
      area.value.slice(area.selectionStart, area.selectionEnd),
    );
    expect(selected).toBe('"rnk"');
    await page.getByText("Not in this form, and left as the dictionary has it: rnk.").waitFor();
    // What was found before the mistake stays where it was.
    await page.getByText("of the search before the problems").waitFor();
    await page.getByRole("region", { name: "Results" }).getByText("note-6").waitFor();
    await dictionary.fill('{"where": {"year": 9007199254740993}}');
    await page.getByText(/^where\.year: a browser would change the number/u).waitFor();
    await dictionary.fill('{"rank": {"constructor": {"a');
    await dictionary.fill('{"rank": {"$val": 1}}');
    await page.getByText("The dictionary has what this form does not show.").waitFor();
    console.expectQuiet();
  });

  it("says why it cannot check a search, and keeps what the form has without a text", async () => {
    const console = await lane.open({ place: at("search") });
    const { page } = console;
    const bm25 = page.getByRole("checkbox", { name: "bm25" });
    await bm25.check();
    await page.getByLabel("Text").fill("bread");
    await page.getByRole("region", { name: "Results" }).getByText("note-6").waitFor();
    expect(await page.getByRole("checkbox", { name: "#embedding" }).isChecked()).toBe(false);
    await bm25.uncheck();
    await page.getByText("Choose an index to search in.").waitFor();
    expect(await page.getByLabel("Text").inputValue()).toBe("bread");
    await page.route("**/search/check", (route) =>
      route.fulfill({ status: 404, json: { message: "no such collection" } }),
    );
    await bm25.check();
    await page.getByLabel("Text").fill("bread and butter");
    await page.getByRole("alert").getByText("no such collection").waitFor();
    console.expectQuiet();
  });

  it("compares two searches, copies one without the key, and is a link", async () => {
    const console = await lane.open({ place: at("search") });
    const { page } = console;
    await page.getByLabel("Text").fill("bread");
    const results = page.getByRole("region", { name: "Results", exact: true });
    await expect.poll(() => results.locator(".hit").first().innerText()).toContain("note-6");
    await page.getByRole("button", { name: "Keep to compare" }).click();
    await page.getByLabel("Text").fill("ships");
    const kept = page.getByRole("region", { name: "Kept results" });
    const marksOf = async (panel: Locator): Promise<readonly string[]> =>
      (await panel.locator(".hit header .chip").allInnerTexts()).toSorted();
    await results
      .getByText(/^up \d|^new$/u)
      .first()
      .waitFor();
    await expect.poll(() => results.locator(".hit").first().innerText()).toContain("note-1");
    // Each of the two panels says of each record where the other one has it.
    await expect.poll(() => kept.locator(".hit").first().innerText()).toMatch(/note-6[\s\S]*now \d/u);
    expect(await marksOf(results)).toEqual(await movesBetween("bread", "ships"));
    await page
      .getByRole("status", { name: "What moved" })
      .getByText(/\d moved up, \d moved down/u)
      .waitFor();
    await console.expectAccessible();
    await page.getByRole("button", { name: "Change places" }).click();
    await expect.poll(() => results.locator(".hit").first().innerText()).toContain("note-6");
    expect(await marksOf(results)).toEqual(await movesBetween("ships", "bread"));
    await page.goBack();
    await expect.poll(() => results.locator(".hit").first().innerText()).toContain("note-1");
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
    const other = await lane.open({ place: link });
    await other.page.getByRole("region", { name: "Kept results" }).getByText("note-6").waitFor();
    await other.page.getByRole("region", { name: "Results", exact: true }).getByText("note-1").waitFor();
    expect(await other.page.getByLabel("Text").inputValue()).toBe("ships");
    console.expectQuiet();
    other.expectQuiet();
  });
});
