/** `sheaf models` through the command line, against a hub over real HTTP. */
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../main.ts";

const MODEL = "naver/efficient-splade-VI-BT-large-query";
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const FILES: Readonly<Record<string, string>> = {
  "config.json": '{"hidden_size": 32}',
  "tokenizer.json": "{}",
  "model.safetensors": "weights",
  "README.md": "not needed",
};

let hub: Server;
let home: string;
let printed: string[];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "sheaf-models-command-"));
  hub = createServer((request, response) => {
    const path = request.url ?? "";
    const file = Object.keys(FILES).find((name) => path === `/${MODEL}/resolve/${COMMIT}/${name}`);
    if (path.startsWith(`/api/models/${MODEL}/revision/main`)) response.end(listing());
    else if (file === undefined) response.writeHead(404).end();
    else response.end(FILES[file]);
  });
  await new Promise<void>((resolve) => hub.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("HF_HOME", home);
  vi.stubEnv("HF_ENDPOINT", `http://127.0.0.1:${(hub.address() as AddressInfo).port}`);
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line) => printed.push(String(line)));
  vi.spyOn(console, "error").mockImplementation((line) => printed.push(String(line)));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await new Promise<void>((resolve) => hub.close(() => resolve()));
  rmSync(home, { recursive: true, force: true });
});

function listing(): string {
  const siblings = Object.entries(FILES).map(([rfilename, content]) => ({
    rfilename,
    size: content.length,
    blobId: createHash("sha1").update(`blob ${content.length}\0${content}`).digest("hex"),
  }));
  return JSON.stringify({ sha: COMMIT, siblings });
}

async function sheaf(line: string): Promise<{ code: number; text: string }> {
  printed.length = 0;
  const code = await main(line.split(" "));
  return { code, text: printed.join("\n") };
}

async function sheafJson(line: string): Promise<unknown> {
  const { code, text } = await sheaf(`${line} --json`);
  expect(code).toBe(0);
  return JSON.parse(text);
}

describe("sheaf models", () => {
  it("lists, fetches, checks and removes a model", async () => {
    expect((await sheaf("models list")).text).toContain(`sheaf models pull ${MODEL}`);
    const pulled = await sheaf(`models pull ${MODEL}`);
    expect(pulled.code).toBe(0);
    expect(pulled.text).toContain("fetching model.safetensors");
    expect(pulled.text).toContain(COMMIT);
    expect((await sheaf("models list")).text).toMatch(new RegExp(`${MODEL} +sparse +cache`, "u"));
    expect((await sheaf(`models verify ${MODEL}`)).text).toContain("ok, 3 files match their hashes");
    const all = await sheaf("models verify");
    expect(all).toEqual(await sheaf("models verify all"));
    expect(all).toMatchObject({ code: 0, text: expect.stringContaining(`${MODEL}: ok, 3 files `) });
    expect(all.text).toContain(
      "all-MiniLM-L6-v2: ok, 10 files match their hashes; without a hash, not checked: README.md, ",
    );
    expect((await sheaf(`models rm ${MODEL}`)).text).toContain(`removed ${MODEL}`);
    expect((await sheaf(`models rm ${MODEL}`)).text).toContain("is not in the cache");
  });

  it("prints JSON on demand", async () => {
    const pulled = (await sheafJson(`models pull ${MODEL}`)) as { path: string };
    expect(pulled).toMatchObject({ identifier: MODEL, revision: COMMIT });
    const states = (await sheafJson("models list")) as { identifier: string }[];
    expect(states.find(({ identifier }) => identifier === MODEL)).toMatchObject({
      source: "cache",
      path: pulled.path,
    });
    expect(await sheafJson(`models verify ${MODEL}`)).toMatchObject([{ identifier: MODEL, ok: true }]);
    expect(await sheafJson(`models rm ${MODEL}`)).toMatchObject({ removed: true });
  });

  it("fails where a file is damaged and says what to do", async () => {
    const { path } = (await sheafJson(`models pull ${MODEL}`)) as { path: string };
    appendFileSync(realpathSync(join(path, "model.safetensors")), "!");
    const { code, text } = await sheaf(`models verify ${MODEL}`);
    expect(code).toBe(1);
    expect(text).toMatch(/DAMAGED; fetch it anew.*\n.*model\.safetensors: has [0-9a-f]{40}, should have/u);
  });

  it("says that files without hashes were not checked", async () => {
    const models = join(home, "models.json");
    mkdirSync(join(home, "own/onnx"), { recursive: true });
    for (const file of ["config.json", "tokenizer.json"]) writeFileSync(join(home, "own", file), "{}");
    writeFileSync(join(home, "own/onnx/model.onnx"), "weights");
    writeFileSync(models, JSON.stringify({ [MODEL]: { path: "own" } }));
    expect((await sheaf(`models verify ${MODEL} --models ${models}`)).text).toBe(
      `${MODEL}: not checked: nothing says what the hashes of its 3 files should be`,
    );
  });

  it("explains what goes wrong", async () => {
    expect(await sheaf("models pull no/model")).toMatchObject({
      code: 2,
      text: expect.stringContaining("unknown embedding model"),
    });
    expect(await sheaf("models pull BAAI/bge-m3")).toMatchObject({
      code: 1,
      text: expect.stringContaining("answered 404"),
    });
    expect(await sheaf("models verify BAAI/bge-m3")).toMatchObject({
      code: 1,
      text: expect.stringContaining("sheaf models pull BAAI/bge-m3"),
    });
    expect(await sheaf("models rm sheaf/bm25")).toMatchObject({
      code: 2,
      text: expect.stringContaining("there is nothing to remove"),
    });
    vi.stubEnv("HF_HUB_OFFLINE", "1");
    const { text } = await sheaf(`models pull ${MODEL}`);
    expect(text).toContain("unset HF_HUB_OFFLINE, or copy");
    expect(text).not.toContain("sheaf models pull");
  });
});
