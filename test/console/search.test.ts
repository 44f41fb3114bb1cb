/** The playground: a form and its dictionary, results and why, two searches side by side, programs to copy. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ConsoleLane } from "./testing/console-lane.ts";
import { NOTES, ROOT_KEY } from "./testing/filled-server.ts";

const lane = new ConsoleLane();
const run = promisify(execFile);
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
    await page.getByLabel("Results", { exact: true }).and(page.locator("input")).fill("2");
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
    const console = await lane.open({ place: at("search") });
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
    const other = await lane.open({ place: link });
    await other.page.getByRole("region", { name: "Results" }).getByText("note-1").waitFor();
    expect(await other.page.getByLabel("Text").inputValue()).toBe("ships");
    console.expectQuiet();
    other.expectQuiet();
  });
});
