/** Getting, checking and removing models against a real HTTP server that misbehaves. */
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fixtureFolder } from "../graph/testing/fixture-models.ts";
import type { PullProgress } from "../hub/pull-model.ts";
import { FaultHub } from "../hub/testing/fault-hub.ts";
import { modelEntry } from "./model-registry.ts";
import { type HubOptions, ModelStore } from "./model-store.ts";

const BGE = "BAAI/bge-m3";
const SPLADE = "prithivida/Splade_PP_en_v1";
const QWEN = "Qwen/Qwen3-Embedding-0.6B";
const MAIN = "0123456789abcdef0123456789abcdef01234567";
const NEWER = "89abcdef0123456789abcdef0123456789abcdef";
const WEIGHTS = "onnx/model.onnx_data";

let hub: FaultHub;
let root: string;
let waits: number[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "sheaf-model-store-"));
  hub = await FaultHub.start();
  waits = [];
  hub.publish(BGE, pinned(BGE), fixtureFolder("tiny-xlmr-cls"));
  hub.publish(SPLADE, MAIN, fixtureFolder("tiny-bert-mlm-splade"));
});

afterEach(async () => {
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});

function pinned(identifier: string): string {
  return modelEntry(identifier).hub?.revision ?? "";
}

function store(options: Partial<HubOptions> = {}): ModelStore {
  return new ModelStore({
    hub: {
      cacheFolder: root,
      endpoint: hub.endpoint,
      wait: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
      ...options,
    },
  });
}

function cacheOf(identifier: string): string {
  return join(root, `models--${identifier.replace("/", "--")}`);
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true }).map(String);
  return entries.filter((path) => !lstatSync(join(folder, path)).isDirectory()).sort();
}

function sameAs(fixture: string, snapshot: string): boolean {
  return filesBelow(snapshot).every((file) =>
    readFileSync(join(snapshot, file)).equals(readFileSync(join(fixtureFolder(fixture), file))),
  );
}

function requestsFor(file: string): readonly (string | null)[] {
  return hub.requests
    .filter(({ host, path }) => host === "files" && path.endsWith(file))
    .map(({ range }) => range);
}

describe("pulling a model", () => {
  it("fetches what it needs at the pinned commit, in the layout of the Hugging Face cache", async () => {
    const { path, commit, totalBytes } = await store().pull(BGE);
    expect([path, commit]).toEqual([join(cacheOf(BGE), "snapshots", pinned(BGE)), pinned(BGE)]);
    expect(filesBelow(path)).toEqual([
      "config.json",
      "onnx/model.onnx",
      "onnx/model.onnx_data",
      "special_tokens_map.json",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    expect(sameAs("tiny-xlmr-cls", path)).toBe(true);
    for (const file of filesBelow(path)) {
      const blob = realpathSync(join(path, file));
      const content = readFileSync(blob);
      const sha1 = createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
      const sha256 = createHash("sha256").update(content).digest("hex");
      expect([sha1, sha256]).toContain(basename(blob));
    }
    expect(totalBytes).toBe(
      filesBelow(path).reduce((sum, file) => sum + readFileSync(join(path, file)).length, 0),
    );
    expect(store().state(BGE)).toMatchObject({ source: "cache", revision: pinned(BGE), missing: null });
    expect(hub.requests[0]?.path).toContain(`/revision/${pinned(BGE)}?`);
  });

  it("takes safetensors where upstream has no ONNX file", async () => {
    hub.publish(QWEN, pinned(QWEN), fixtureFolder("tiny-qwen3-last/model-bf16"));
    const { path } = await store().pull(QWEN);
    expect(filesBelow(path)).toContain("model.safetensors");
    const { size } = lstatSync(realpathSync(join(path, "model.safetensors")));
    expect(store().state(QWEN)).toMatchObject({ source: "cache", weightBytes: 2 * size });
  });

  it("resolves main once where no commit is pinned, and stays with it", async () => {
    expect((await store().pull(SPLADE)).commit).toBe(MAIN);
    hub.publish(SPLADE, NEWER, fixtureFolder("tiny-bert-mlm-splade"));
    writeFileSync(join(cacheOf(SPLADE), "refs", "main"), NEWER);
    expect(store().state(SPLADE).revision).toBe(MAIN);
    expect(readFileSync(join(cacheOf(SPLADE), "refs", "sheaf"), "utf8")).toBe(MAIN);
  });

  it("uses what other tools have in the cache and fetches only the rest", async () => {
    await store().pull(BGE);
    rmSync(join(cacheOf(BGE), "snapshots"), { recursive: true });
    hub.requests.length = 0;
    await store().pull(BGE);
    expect(hub.requests).toHaveLength(1);
    expect(store().state(BGE).source).toBe("cache");
  });

  it("tells its progress up to the end", async () => {
    const seen: PullProgress[] = [];
    const { totalBytes } = await store().pull(BGE, { onProgress: (progress) => seen.push(progress) });
    const received = seen.map(({ receivedBytes }) => receivedBytes);
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(seen.at(-1)).toMatchObject({ receivedBytes: totalBytes, totalBytes });
    expect(new Set(seen.map(({ file }) => file))).toContain(WEIGHTS);
  });

  it("ends with an abort and continues from there", async () => {
    const controller = new AbortController();
    const pull = store().pull(BGE, {
      signal: controller.signal,
      onProgress: ({ file, receivedBytes }) => {
        if (file === WEIGHTS && receivedBytes > 0) controller.abort();
      },
    });
    await expect(pull).rejects.toMatchObject({ code: "cancelled" });
    expect(store().state(BGE).source).toBeNull();
    await store().pull(BGE);
    expect(store().state(BGE).source).toBe("cache");
  });
});

describe("a hub that misbehaves", () => {
  it("is asked for the rest after it cut a connection", async () => {
    hub.failNext(WEIGHTS, { type: "cut", afterBytes: 10_000 });
    const { path } = await store().pull(BGE);
    expect(sameAs("tiny-xlmr-cls", path)).toBe(true);
    expect(requestsFor(WEIGHTS)).toEqual([null, expect.stringMatching(/^bytes=[1-9]\d*-$/u)]);
  });

  it("may cut as often as it likes while there is progress", async () => {
    hub.failNext(WEIGHTS, { type: "cut", afterBytes: 1_000 }, 15);
    expect(sameAs("tiny-xlmr-cls", (await store().pull(BGE)).path)).toBe(true);
    expect(requestsFor(WEIGHTS)).toHaveLength(16);
  });

  it("is given up after several cuts without progress, and what came is kept for the next pull", async () => {
    hub.failNext(WEIGHTS, { type: "cut", afterBytes: 5_000 });
    hub.failNext(WEIGHTS, { type: "cut", afterBytes: 0 }, 6);
    await expect(store().pull(BGE)).rejects.toThrow(/gave up after 6 tries/u);
    expect(store().state(BGE)).toMatchObject({
      source: null,
      missing: expect.stringContaining("pull BAAI/bge-m3"),
    });
    const blobs = join(cacheOf(BGE), "blobs");
    const incomplete = readdirSync(blobs).find((name) => name.endsWith(".incomplete")) ?? "";
    const kept = lstatSync(join(blobs, incomplete)).size;
    await store().pull(BGE);
    expect(requestsFor(WEIGHTS).at(-1)).toBe(`bytes=${kept}-`);
  });

  it("may ignore that only the rest is asked for", async () => {
    hub.failNext(WEIGHTS, { type: "cut", afterBytes: 10_000 });
    hub.failNext(WEIGHTS, { type: "ignore_range" });
    expect(sameAs("tiny-xlmr-cls", (await store().pull(BGE)).path)).toBe(true);
  });

  it("is asked once more for wrong bytes, and refused if they stay wrong", async () => {
    hub.failNext(WEIGHTS, { type: "wrong_bytes" });
    expect(sameAs("tiny-xlmr-cls", (await store().pull(BGE)).path)).toBe(true);
    rmSync(cacheOf(BGE), { recursive: true });
    hub.failNext(WEIGHTS, { type: "wrong_bytes" }, 2);
    await expect(store().pull(BGE)).rejects.toThrow(
      /onnx\/model\.onnx_data.*has the hash .*nothing of it was kept/u,
    );
    expect(store().state(BGE).source).toBeNull();
    expect(readdirSync(join(cacheOf(BGE), "blobs")).some((name) => name.endsWith(".incomplete"))).toBe(false);
  });

  it("replaces the wrong start that an earlier download left", async () => {
    await store().pull(BGE);
    const weights = join(cacheOf(BGE), "snapshots", pinned(BGE), WEIGHTS);
    const blob = realpathSync(weights);
    rmSync(blob);
    writeFileSync(`${blob}.incomplete`, Buffer.alloc(500, 9));
    const { path } = await store().pull(BGE);
    expect(sameAs("tiny-xlmr-cls", path)).toBe(true);
  });

  it("counts as cut when it falls silent", async () => {
    hub.failNext("/tokenizer.json", { type: "silence" });
    await store({ stallMs: 1_000 }).pull(BGE);
    expect(store().state(BGE).source).toBe("cache");
  });

  it("is obeyed when it asks for patience", async () => {
    hub.failNext("/api/models", { type: "status", status: 429, headers: { "retry-after": "7" } });
    hub.failNext(WEIGHTS, { type: "status", status: 503, headers: {} });
    await store().pull(BGE);
    expect(waits).toEqual([7_000, 500]);
  });

  it.each([
    [401, /needs a token; set HF_TOKEN/u],
    [403, /accept the model's terms/u],
    [404, /does not exist there/u],
    [400, /answered 400/u],
  ])("is explained when it answers %i", async (status, problem) => {
    hub.failNext("/api/models", { type: "status", status });
    await expect(store().pull(BGE)).rejects.toThrow(problem);
    await expect(store().pull("sheaf/bm25")).rejects.toMatchObject({ code: "invalid_argument" });
    expect(waits).toEqual([]);
  });

  it("gets the token, and no other host does", async () => {
    hub.requireToken("hf_secret");
    await expect(store().pull(BGE)).rejects.toMatchObject({ code: "model_unavailable" });
    await expect(store({ token: "hf_wrong" }).pull(BGE)).rejects.toThrow(/HF_TOKEN is not valid/u);
    hub.requests.length = 0;
    await store({ token: "hf_secret" }).pull(BGE);
    const seen = (host: string): unknown[] =>
      hub.requests.filter((request) => request.host === host).map(({ authorization }) => authorization);
    expect(new Set(seen("hub"))).toEqual(new Set(["Bearer hf_secret"]));
    expect(new Set(seen("files"))).toEqual(new Set([null]));
  });

  it("is not followed round in circles", async () => {
    const circle = { type: "status", status: 302, headers: { location: "/api/models/again" } } as const;
    hub.failNext("/api/models", circle, 10);
    await expect(store().pull(BGE)).rejects.toThrow(/redirects more than 5 times/u);
  });
});

describe("two pulls at once", () => {
  it("are not made by two processes, unless the first is gone", async () => {
    const folder = join(root, ".locks", "models--BAAI--bge-m3");
    const lock = join(folder, "sheaf-pull.lock");
    mkdirSync(folder, { recursive: true });
    writeFileSync(lock, JSON.stringify({ host: hostname(), pid: process.pid }));
    await expect(store().pull(BGE)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
    writeFileSync(lock, JSON.stringify({ host: hostname(), pid: 2 ** 30 }));
    await store().pull(BGE);
    expect(existsSync(lock)).toBe(false);
  });
});

describe("offline", () => {
  it("a model that is here is fine, any other is refused without a connection", async () => {
    // Not the command that was just given: it cannot help while the variable is set.
    await expect(store({ offline: true }).pull(BGE)).rejects.toThrow(
      `${BGE} is not in the cache, and HF_HUB_OFFLINE forbids to download it: unset HF_HUB_OFFLINE, or copy ` +
        `${cacheOf(BGE)} from a machine that has downloaded it`,
    );
    expect(hub.requests).toEqual([]);
    await store().pull(BGE);
    hub.requests.length = 0;
    expect((await store({ offline: true }).pull(BGE)).commit).toBe(pinned(BGE));
    expect(hub.requests).toEqual([]);
  });
});

describe("verifying", () => {
  it("reads every file and names the damaged one", async () => {
    const { path } = await store().pull(BGE);
    expect((await store().verify(BGE)).map(({ status }) => status)).toEqual(Array(6).fill("ok"));
    const blob = realpathSync(join(path, WEIGHTS));
    const content = readFileSync(blob);
    content[100] = (content[100] ?? 0) ^ 1;
    writeFileSync(blob, content);
    rmSync(realpathSync(join(path, "special_tokens_map.json")));
    const bad = (await store().verify(BGE)).filter(({ status }) => status !== "ok");
    expect(bad.map(({ file, status }) => [file, status])).toEqual([
      [WEIGHTS, "damaged"],
      ["special_tokens_map.json", "missing"],
    ]);
  });

  it("compares the bundled model with its checksums", async () => {
    const files = await store().verify("sentence-transformers/all-MiniLM-L6-v2");
    expect(files.filter(({ status }) => status === "ok")).toHaveLength(10);
    const unknown = files.filter(({ status }) => status === "unknown").map(({ file }) => file);
    expect(unknown).toEqual(["README.md", "golden.json", "package.json"]);
    expect(files.some(({ status }) => status === "damaged" || status === "missing")).toBe(false);
  });

  it("needs the model", async () => {
    await expect(store().verify(BGE)).rejects.toMatchObject({ code: "model_unavailable" });
    expect(await store().verify("sheaf/bm25")).toEqual([]);
  });
});

describe("removing", () => {
  it("leaves nothing of a model, and says what it freed", async () => {
    const { totalBytes } = await store().pull(SPLADE);
    expect(await store().remove(SPLADE)).toEqual({ commit: MAIN, freedBytes: totalBytes });
    expect(existsSync(cacheOf(SPLADE))).toBe(false);
    expect(store().state(SPLADE).source).toBeNull();
    expect(await store().remove(SPLADE)).toBeNull();
  });

  it("is refused plainly where there is nothing that could be removed", async () => {
    const minilm = "sentence-transformers/all-MiniLM-L6-v2";
    await expect(store().remove(minilm)).rejects.toThrow(`${minilm} comes with Sheaf and cannot be removed`);
    await expect(store().remove("sheaf/bm25")).rejects.toThrow(
      "sheaf/bm25 is part of Sheaf and has no weights: there is nothing to remove",
    );
  });

  it("keeps the snapshots and blobs of others", async () => {
    const { path } = await store().pull(BGE);
    const other = join(cacheOf(BGE), "snapshots", NEWER);
    mkdirSync(other);
    const blob = join(cacheOf(BGE), "blobs", "of-another-tool");
    writeFileSync(blob, "theirs");
    symlinkSync(realpathSync(join(path, "config.json")), join(other, "config.json"));
    symlinkSync(blob, join(other, "else"));
    await store().remove(BGE);
    expect(filesBelow(other)).toEqual(["config.json", "else"]);
    expect(readFileSync(join(other, "config.json")).length).toBeGreaterThan(0);
    expect(readdirSync(join(cacheOf(BGE), "blobs"))).toHaveLength(2);
  });
});
