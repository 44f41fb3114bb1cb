/** `sheaf collections …` against a server that listens. */
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { COLLECTIONS, MINILM, ROOT_KEY, type TestApp, startTestApp } from "../../testing/test-app.ts";
import { main } from "../main.ts";

const FORMER = { identifier: MINILM, revision: "former", digest: `sha256:${"0".repeat(64)}` };
const EMBEDS = { embedding_function: { type: "known", name: "default", config: {} } };

let test: TestApp;
let url: string;
const out: string[] = [];
const errors: string[] = [];

beforeAll(async () => {
  test = await startTestApp();
  await test.app.http.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(test.app.http.server.address() as AddressInfo).port}`;
});
afterAll(() => test.close());

beforeEach(() => {
  // The console is what a command writes to; listening to it replaces nothing of ours.
  vi.spyOn(console, "log").mockImplementation((line: string) => out.push(line));
  vi.spyOn(console, "error").mockImplementation((line: string) => errors.push(line));
  vi.spyOn(process.stderr, "write").mockImplementation((line) => errors.push(String(line)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  out.length = 0;
  errors.length = 0;
});

function accept(...args: readonly string[]): Promise<number> {
  return main(["collections", "accept-model", ...args, "--url", url, "--key", ROOT_KEY]);
}

/** A collection that remembers other weights than those of this server. */
async function outdated(name: string): Promise<string> {
  const path = await test.makeCollection({ name, configuration: EMBEDS });
  const at = { tenant: "default_tenant", database: "default_database" };
  await test.engine.rememberModels({ ...at, id: path.slice(COLLECTIONS.length + 1) }, [FORMER]);
  return path;
}

describe("sheaf collections accept-model", () => {
  it("says what it has accepted, and texts are taken again", async () => {
    const path = await outdated("notes");
    const json = { ids: ["a"], documents: ["text"] };
    expect((await test.ask(`POST ${path}/add`, { json })).status).toBe(409);
    expect(await accept("notes")).toBe(0);
    expect(out.join("\n")).toMatch(
      /^notes embeds with \S+ of revision 1110a243-f16 \(sha256:[0-9a-f]{64}\) now, no more of revision former \(sha256:0{64}\)$/u,
    );
    expect((await test.ask(`POST ${path}/add`, { json })).status).toBe(201);
    out.length = 0;
    expect(await accept("notes")).toBe(0);
    expect(out).toEqual(["nothing to accept: notes remembers no other weights"]);
  });

  it("prints the answer of the server as JSON", async () => {
    await outdated("json");
    expect(await accept("json", "--json")).toBe(0);
    expect(JSON.parse(out.join("\n"))).toMatchObject({
      accepted: [{ model: MINILM, before: { revision: "former", digest: FORMER.digest } }],
    });
  });

  it.each([
    [["nowhere"], 1, "Collection [nowhere] does not exist"],
    [["notes", "--tenant", "no body"], 1, "Collection [notes] does not exist"],
    [["notes", "--database", "nothing"], 1, "Collection [notes] does not exist"],
    [[], 2, "missing required argument 'name'"],
  ])("%j ends with %i and says why", async (args, code, message) => {
    expect(await accept(...args)).toBe(code);
    expect(errors.join("\n")).toContain(message);
  });
});

describe("sheaf collections delete", () => {
  it("deletes one by its name, and says so", async () => {
    const path = await test.makeCollection({ name: "gone" });
    expect(await main(["collections", "delete", "gone", "--url", url, "--key", ROOT_KEY])).toBe(0);
    expect(out).toEqual(["deleted gone"]);
    expect((await test.ask(`GET ${path}`)).status).toBe(404);
    expect(await main(["collections", "delete", "gone", "--url", url, "--key", ROOT_KEY])).toBe(1);
    expect(errors.join("\n")).toContain("Collection [gone] does not exist");
  });
});
