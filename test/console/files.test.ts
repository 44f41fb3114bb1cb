/** Files that are brought in, and written: nothing is lost without a word, whatever is refused or changes meanwhile. */
import { type Collection, SheafClient } from "@sheaf/client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asCsv, asJsonLines, readRecords } from "../../apps/console/src/data/export-records.ts";
import { readFile } from "../../apps/console/src/data/read-files.ts";
import { type Written, writeFiles } from "../../apps/console/src/data/write-files.ts";
import type { Asked } from "../../apps/console/src/session/ask-collection.ts";
import { type FilledServer, ROOT_KEY, startFilledServer } from "./testing/filled-server.ts";
import { OpenedConsole, launchBrowser } from "./testing/opened-console.ts";

let server: FilledServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startFilledServer(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.served.stop();
});

const read = (name: string, text: string) => readFile(name, new TextEncoder().encode(text));
const place = (name: string): string => `#/data/default_tenant/default_database/${name}`;

async function make(name: string, records = 0): Promise<Asked & { readonly collection: Collection }> {
  const { client } = server;
  const collection = await client.createCollection({ name });
  const ids = Array.from({ length: records }, (_, i) => `r${i}`);
  if (records > 0)
    await collection.add({ records: ids.map((id) => ({ id, embedding: [1, 2], metadata: { n: 1 } })) });
  return { client, collection };
}

async function write(asked: Asked, name: string, text: string, before?: Written): Promise<Written> {
  let written: Written | undefined;
  await writeFiles(asked, [read(name, text)], {
    signal: new AbortController().signal,
    onProgress: (now) => (written = now),
    ...(before !== undefined && { before }),
  });
  return written!;
}

const line = (id: number, more = ""): string => `{"id":"${id}","embedding":[1,2]${more}}`;

describe("an import", () => {
  it("stores all but the records that are refused, and names those", async () => {
    const asked = await make("refusing");
    const bad = new Map([
      [3, ',"metadata":{"m":[1,"x"]}'],
      [77, ',"metadata":{"$key":1}'],
      [150, ',"embedding":[1]'],
    ]);
    const lines = Array.from({ length: 230 }, (_, i) =>
      i + 1 === 150 ? '{"id":"150","embedding":[1]}' : line(i + 1, bad.get(i + 1)),
    );
    const { stored, refused } = await write(asked, "a.jsonl", lines.join("\n"));
    expect(stored).toBe(227);
    expect(refused.count).toBe(3);
    expect(refused.shown).toEqual([
      expect.stringMatching(/^a\.jsonl, line 3: metadata\.m: must hold values of one kind/u),
      expect.stringMatching(/^a\.jsonl, line 77: metadata.*cannot start with/u),
      expect.stringMatching(/^a\.jsonl, line 150: embedding/u),
    ]);
    expect(await asked.collection.count()).toBe(227);
  });

  it("ends where everything is refused, and goes on from there when asked", async () => {
    const asked = await make("refusing-all");
    const bad = Array.from({ length: 300 }, (_, i) => line(i, ',"metadata":{"$key":1}'));
    let written: Written | undefined;
    const options = { signal: new AbortController().signal, onProgress: (now: Written) => (written = now) };
    const files = [read("a.jsonl", [...bad.slice(0, 100), line(500)].join("\n"))];
    await expect(writeFiles(asked, files, options)).rejects.toThrow("100 records were refused one after");
    expect(written).toMatchObject({ stored: 0, refused: { count: 100 } });
    await writeFiles(asked, files, { ...options, before: written! });
    expect(written).toMatchObject({ stored: 1, refused: { count: 100 } });
  });

  it("says at once what is not about records", async () => {
    const { collection } = await make("not-mine");
    const client = new SheafClient({ url: server.url, key: server.readKey });
    await expect(write({ client, collection }, "a.jsonl", line(1))).rejects.toMatchObject({ status: 403 });
  });

  it("takes more records than a call has arguments", async () => {
    const asked = await make("many");
    const record = { ...read("a.jsonl", line(1)).records[0]! };
    const file = { ...read("a.jsonl", line(1)), records: Array.from({ length: 200_000 }, () => record) };
    const options = { signal: AbortSignal.abort(new Error("ended")), onProgress: () => {} };
    await expect(writeFiles(asked, [file], options)).rejects.toThrow("ended");
  });

  it("does not cut chunks of an export again", async () => {
    const { client } = server;
    const { schema } = server.notes.info;
    const options = { where: null, most: 100, signal: new AbortController().signal, onProgress: () => {} };
    const stored = [];
    for (const name of ["cut", "cut-again"]) {
      const collection = await client.createCollection({
        name,
        schema: { ...schema, chunking: { by: "sentences", size: 32 } },
      });
      const [before] = stored;
      const file =
        before === undefined
          ? read("long.txt", "A sentence about the sea, and one about ships. ".repeat(12))
          : read("a.jsonl", asJsonLines(before).join(""));
      await writeFiles({ client, collection }, [file], options);
      stored.push((await readRecords({ client, collection }, options)).records);
    }
    expect(stored[0]!.length).toBeGreaterThan(2);
    expect(stored[1]).toEqual(stored[0]);
  });

  it.each(["a.jsonl", "a.csv"])("reads what an export wrote as %s, to the digit", async (name) => {
    const asked = await make(`digits-${name}`);
    const text = [
      '{"id":"a","document":"=1","uri":"http://a.example","embedding":[1,2],"metadata":{"id":"x","big":9223372036854775807,"whole":2.0,"year":"1990"}}',
      '{"id":"b","embedding":[1,2],"metadata":{"tags":["a","b"],"flag":false,"empty":"","constructor":1}}',
    ].join("\n");
    await write(asked, "first.jsonl", text);
    const options = { where: null, most: 10, signal: new AbortController().signal, onProgress: () => {} };
    const { records } = await readRecords(asked, options);
    const lines = name === "a.csv" ? asCsv(records) : asJsonLines(records);
    expect(lines.join("")).toContain("9223372036854775807");
    const again = await make(`digits-again-${name}`);
    // Vectors are not exported, and these collections have no model.
    const file = read(name, lines.join(""));
    const withVectors = { ...file, records: file.records.map((one) => ({ ...one, embedding: [1, 2] })) };
    await writeFiles(again, [withVectors], options);
    expect((await readRecords(again, options)).records).toEqual(records);
    expect(await again.collection.count({ where: { big: { $gt: 1 } } })).toBe(1);
  });
});

describe("an export", () => {
  const ids = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, i) => `r${from + i}`);

  /** Of 1,200 records, which something happens to when 500 of them are read. */
  async function readWhile(
    name: string,
    happens: (collection: Collection) => Promise<unknown>,
    most = 2_000,
  ) {
    const { collection } = await make(name, 1_200);
    let requests = 0;
    const client = new SheafClient({
      url: server.url,
      key: ROOT_KEY,
      fetch: async (...request) => {
        requests += 1;
        // The ids, and the first page.
        if (requests === 3) await happens(collection);
        return fetch(...request);
      },
    });
    const options = { signal: new AbortController().signal, onProgress: () => {} };
    const { records, ...rest } = await readRecords(
      { client, collection },
      { where: { n: 1 }, most, ...options },
    );
    return { ids: records.map(({ id }) => id), ...rest };
  }

  it("is of the state in which it began while what it has not read stays", async () => {
    const read = await readWhile("shrinking", async (collection) => {
      await collection.delete({ ids: ids(0, 400) });
      await collection.upsert({ records: [{ id: "new", embedding: [1, 2], metadata: { n: 1 } }] });
    });
    expect(read).toEqual({ ids: ids(0, 1_200), isCut: false, isChanged: false, gone: 0 });
  });

  it("misses nothing else, and says so, where what it has not read changes", async () => {
    const read = await readWhile("changing", async (collection) => {
      await collection.delete({ ids: ids(600, 650) });
      await collection.update({ records: [{ id: "r700", metadata: { n: 2 } }] });
    });
    const left = ids(0, 1_200).filter((id) => id !== "r700" && !ids(600, 650).includes(id));
    expect(read).toEqual({ ids: left, isCut: false, isChanged: true, gone: 51 });
  });

  it("says that there are more records than it takes", async () => {
    const read = await readWhile("long", () => Promise.resolve(), 700);
    expect(read).toEqual({ ids: ids(0, 700), isCut: true, isChanged: false, gone: 0 });
  });
});

describe("in the browser", () => {
  it("names what is refused, counts it, and reads its own export", async () => {
    const { collection } = await make("by-hand");
    const console = await OpenedConsole.open(browser, {
      ...{ url: server.url, key: ROOT_KEY, place: place("by-hand") },
    });
    const { page } = console;
    const dialog = page.getByRole("dialog");
    const choose = async (name: string, text: string): Promise<void> => {
      await page.getByRole("button", { name: "Import files" }).click();
      const buffer = Buffer.from(text);
      await dialog
        .getByLabel("Files", { exact: true })
        .setInputFiles([{ name, mimeType: "text/plain", buffer }]);
    };
    const close = async (): Promise<void> => {
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    const big = '{"big":9007199254740993,"year":"1990","formula":"=1+1"}';
    const lines = [line(1, `,"metadata":${big}`), line(2, ',"metadata":{"m":[1,"x"]}'), line(1), line(3)];
    await choose("a.jsonl", [...lines, "x\n".repeat(30)].join("\n"));
    await dialog.getByRole("heading", { name: "a.jsonl: 3 records, 31 refused" }).waitFor();
    await dialog.getByText("and 11 more").waitFor();
    await dialog.getByRole("button", { name: "Import 3 records" }).click();
    await dialog.getByText("2 of 3 records are stored, 1 refused.").waitFor();
    await dialog.getByText("a.jsonl, line 2: metadata.m: must hold values of one kind").waitFor();
    await console.expectAccessible();
    await close();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByLabel("Export").selectOption("csv"),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const csv = Buffer.concat(chunks).toString();
    expect(csv).toBe('id,document,uri,big,year,formula\r\n1,,,9007199254740993,"1990",\'=1+1\r\n3,,,,,\r\n');
    await choose("by-hand.csv", csv);
    await dialog.getByRole("button", { name: "Import 2 records" }).click();
    await dialog.getByText("2 of 2 records are stored.").waitFor();
    await close();
    expect(await collection.count({ where: { big: { $gt: 9_007_199_254_740_992 } } })).toBe(1);
    console.expectQuiet();
    await console.close();
  });

  it("exports nothing under a filter that is none, and ends an export with its view", async () => {
    await make("leaving", 3);
    const console = await OpenedConsole.open(browser, {
      ...{ url: server.url, key: ROOT_KEY, place: `${place("leaving")}?where=%7B%22n%22%3A%201` },
    });
    const { page } = console;
    await page.getByRole("heading", { name: "leaving" }).waitFor();
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Export").count()).toBe(0);
    await console.go(place("leaving"));
    await page.getByRole("button", { name: "r0" }).waitFor();
    // It never gets its answer.
    await page.route("**/conditional/get", () => {});
    const failed = page.waitForEvent("requestfailed", (request) =>
      request.url().endsWith("/conditional/get"),
    );
    const asked = page.waitForRequest("**/conditional/get");
    await page.getByLabel("Export").selectOption("jsonl");
    await asked;
    await page.getByRole("button", { name: "Stop the export" }).waitFor();
    await console.go("#/overview");
    expect((await failed).failure()?.errorText).toBe("net::ERR_ABORTED");
    console.expectQuiet();
    await console.close();
  });
});
