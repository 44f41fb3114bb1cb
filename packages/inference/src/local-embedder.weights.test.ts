/** Models that come and go: fetched at first use, unloaded for others, limited by memory. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EmbedRequest } from "./embedder.ts";
import { fixtureFolder } from "./graph/testing/fixture-models.ts";
import { FaultHub } from "./hub/testing/fault-hub.ts";
import { type EmbedderOptions, LocalEmbedder } from "./local-embedder.ts";
import { planMemory } from "./models/memory-plan.ts";
import { findModelFolder } from "./models/model-folder.ts";
import { modelEntry } from "./models/model-registry.ts";

const BGE = "BAAI/bge-m3";
const QWEN = "Qwen/Qwen3-Embedding-0.6B";
const SPLADE = "prithivida/Splade_PP_en_v1";
const FOLDERS = {
  [BGE]: { path: fixtureFolder("tiny-xlmr-cls") },
  [QWEN]: { path: fixtureFolder("tiny-qwen3-last") },
};

let root: string;
const open: LocalEmbedder[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sheaf-weights-"));
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((embedder) => embedder.close()));
  rmSync(root, { recursive: true, force: true });
});

function start(options: EmbedderOptions): LocalEmbedder {
  const embedder = new LocalEmbedder({ replicas: 1, ...options });
  open.push(embedder);
  return embedder;
}

function request(model: string, texts: readonly string[] = ["a text"]): EmbedRequest {
  return { model, texts, instruction: "", truncate: "none" };
}

/** What one replica of a model takes, by the embedder's own account. */
function needed(identifier: keyof typeof FOLDERS): number {
  const folder = findModelFolder(modelEntry(identifier), FOLDERS[identifier]);
  if ("missing" in folder) throw new Error(folder.missing);
  return planMemory(folder, { budgetBytes: 2 ** 40, replicas: 1, batchTokens: 512 }).replicaBytes;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("an absent model", () => {
  it("is refused with the command that fetches it", async () => {
    const embedder = start({ hub: { cacheFolder: root } });
    await expect(embedder.dense(request(BGE))).rejects.toMatchObject({
      status: 503,
      message:
        `the model ${BGE} is not available: fetch its weights with \`sheaf models pull ${BGE}\`. ` +
        "Until they are on the server, trying again does not help; from then on it does, without a restart",
    });
  });

  it("whose folder cannot be used is told of at the start, with the place, and callers hear no place", async () => {
    const events: string[] = [];
    const path = join(root, "moved");
    const embedder = start({ models: { [BGE]: { path } }, onEvent: (event) => events.push(event) });
    const told = `the model ${BGE} is not available: the folder ${path} does not exist`;
    expect(events).toEqual([told]);
    for (let round = 0; round < 2; round++) {
      const refusal = await embedder.dense(request(BGE)).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ status: 503, message: expect.stringContaining("missing or damaged") });
      expect((refusal as Error).message).not.toContain(root);
    }
    expect(events).toEqual([told]);
    cpSync(FOLDERS[BGE].path, path, { recursive: true });
    expect((await embedder.dense(request(BGE))).vectors).toHaveLength(1);
  });

  it.each(["config.json", "tokenizer.json", "onnx/model.onnx"])(
    "whose %s is damaged is refused without its place, which the log has",
    async (file) => {
      const path = join(root, "damaged");
      cpSync(FOLDERS[BGE].path, path, { recursive: true });
      writeFileSync(join(path, file), "no such thing");
      const events: string[] = [];
      const embedder = start({ models: { [BGE]: { path } }, onEvent: (event) => events.push(event) });
      const refusal = await embedder.dense(request(BGE)).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ status: 503, message: expect.stringContaining("missing or damaged") });
      expect((refusal as Error).message).not.toContain(root);
      expect(events.join("\n")).toContain(join(path, file));
    },
  );

  it("is fetched once where that is wanted, and serves as soon as it is here", async () => {
    const hub = await FaultHub.start();
    hub.publish(SPLADE, "0123456789abcdef0123456789abcdef01234567", fixtureFolder("tiny-bert-mlm-splade"));
    const events: string[] = [];
    const embedder = start({
      hub: { cacheFolder: root, endpoint: hub.endpoint },
      autoPull: true,
      onEvent: (event) => events.push(event),
    });
    const refusals = await Promise.allSettled([
      embedder.sparse(request(SPLADE)),
      embedder.sparse(request(SPLADE)),
    ]);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        status: "rejected",
        reason: { status: 503, retryAfterSeconds: 5, message: expect.stringContaining("is being fetched") },
      });
    }
    while (!embedder.model(SPLADE).available) await delay(10);
    expect((await embedder.sparse(request(SPLADE))).vectors).toHaveLength(1);
    expect(hub.requests.filter(({ path }) => path.startsWith("/api/"))).toHaveLength(1);
    expect(events[0]).toBe(`fetching the model ${SPLADE}`);
    await hub.close();
  });

  it("that cannot be fetched says why, and is not asked for at every request", async () => {
    const hub = await FaultHub.start();
    const events: string[] = [];
    const embedder = start({
      hub: { cacheFolder: root, endpoint: hub.endpoint },
      autoPull: true,
      onEvent: (event) => events.push(event),
    });
    await expect(embedder.dense(request(BGE))).rejects.toThrow("is being fetched");
    while (events.length < 2) await delay(10);
    await expect(embedder.dense(request(BGE))).rejects.toThrow(
      new RegExp(`^the model ${BGE} could not be fetched; the log of the server says why$`, "u"),
    );
    expect(events[1]).toMatch(/could not be fetched: .*404/u);
    expect(hub.requests).toHaveLength(1);
    await hub.close();
  });

  it("is fetched when it is asked for, says how far it is, and is loaded by its first use", async () => {
    const hub = await FaultHub.start();
    hub.publish(SPLADE, "0123456789abcdef0123456789abcdef01234567", fixtureFolder("tiny-bert-mlm-splade"));
    const embedder = start({ hub: { cacheFolder: root, endpoint: hub.endpoint } });
    expect(embedder.model(SPLADE)).toMatchObject({ available: false, loaded: false, pull: null });
    for (let times = 0; times < 3; times++) embedder.pull(SPLADE);
    expect(embedder.model(SPLADE).pull).toMatchObject({ state: "pulling", receivedBytes: 0 });
    while (!embedder.model(SPLADE).available) await delay(10);
    expect(embedder.model(SPLADE)).toMatchObject({ loaded: false, pull: null });
    await embedder.sparse(request(SPLADE));
    expect(embedder.model(SPLADE).loaded).toBe(true);
    expect(embedder.model(SPLADE).memoryBytes).toBeGreaterThan(0);
    // It is here: nothing is asked for.
    embedder.pull(SPLADE);
    expect(hub.requests.filter(({ path }) => path.startsWith("/api/"))).toHaveLength(1);
    await hub.close();
  });

  it("is not fetched by a request where nobody has asked for it, and one that failed may be asked for anew", async () => {
    const hub = await FaultHub.start();
    const embedder = start({ hub: { cacheFolder: root, endpoint: hub.endpoint } });
    await expect(embedder.dense(request(BGE))).rejects.toMatchObject({ code: "model_unavailable" });
    expect(hub.requests).toEqual([]);
    for (const requests of [1, 2]) {
      embedder.pull(BGE);
      while (embedder.model(BGE).pull?.state !== "failed") await delay(10);
      expect(hub.requests).toHaveLength(requests);
    }
    const offline = start({ hub: { cacheFolder: root, endpoint: hub.endpoint, offline: true } });
    expect(() => offline.pull(BGE)).toThrow("does not connect");
    await hub.close();
  });
});

describe("the memory budget", () => {
  it("ends the processes of the model that was used longest ago, which loads again when it is used", async () => {
    const memoryBytes = Math.max(needed(BGE), needed(QWEN)) + 1;
    const embedder = start({ models: FOLDERS, memoryBytes });
    const before = await embedder.dense(request(BGE));
    const pids = await embedder.replicaPids(BGE);
    await embedder.dense(request(QWEN));
    expect(pids.map(isAlive)).toEqual([false]);
    const after = await embedder.dense(request(BGE));
    expect(after.vectors).toEqual(before.vectors);
  });

  it("holds for callers of several models at the same time", async () => {
    const memoryBytes = Math.max(needed(BGE), needed(QWEN)) + 1;
    const embedder = start({ models: FOLDERS, memoryBytes });
    const calls = [BGE, QWEN, BGE, QWEN, QWEN, BGE].map((model) => embedder.dense(request(model)));
    expect((await Promise.all(calls)).every(({ vectors }) => vectors.length === 1)).toBe(true);
  });

  it("lowers the limit of tokens, and the refusal says why", async () => {
    const path = join(root, "long");
    cpSync(FOLDERS[QWEN].path, path, { recursive: true });
    for (const [file, member] of [
      ["config.json", "max_position_embeddings"],
      ["tokenizer_config.json", "model_max_length"],
    ] as const) {
      const json = JSON.parse(readFileSync(join(path, file), "utf8")) as object;
      writeFileSync(join(path, file), JSON.stringify({ ...json, [member]: 16_384 }));
    }
    const models = { [QWEN]: { path } };
    expect(start({ models, memoryBytes: 2 ** 40 }).model(QWEN).maxTokens).toBe(16_384);
    const embedder = start({ models, memoryBytes: 2 ** 28 });
    const limit = embedder.model(QWEN).maxTokens ?? 0;
    expect(limit).toBeGreaterThan(128);
    expect(limit).toBeLessThan(16_384);
    const long = "word ".repeat(limit);
    await expect(embedder.dense(request(QWEN, [long]))).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringMatching(
        new RegExp(`is ${limit} here: the model takes 16384, .* memory budget of 0.25 GiB; split`, "u"),
      ),
    });
    expect((await embedder.dense(request(QWEN))).vectors).toHaveLength(1);
  });

  it("refuses a model that does not fit at all", async () => {
    const small = start({ models: FOLDERS, memoryBytes: needed(QWEN) - 1 });
    await expect(small.dense(request(QWEN))).rejects.toThrow(/needs 0\.\d+ GiB of memory.*--model-memory/u);
  });

  it("never unloads a pinned model, and refuses what does not fit beside it", async () => {
    const memoryBytes = Math.max(needed(BGE), needed(QWEN)) + 1;
    const embedder = start({ models: FOLDERS, memoryBytes, pinned: [BGE] });
    await embedder.dense(request(BGE));
    const pids = await embedder.replicaPids(BGE);
    await expect(embedder.dense(request(QWEN))).rejects.toMatchObject({ code: "model_unavailable" });
    expect(pids.map(isAlive)).toEqual([true]);
  });
});

describe("the batch size", () => {
  it("is measured once and kept for the next start", async () => {
    const workFolder = join(root, "work");
    const embedder = start({ models: FOLDERS, workFolder });
    await embedder.dense(request(BGE));
    const { digest } = await embedder.identity(BGE);
    const kept = JSON.parse(readFileSync(join(workFolder, "batch-tokens.json"), "utf8")) as object;
    expect(Object.keys(kept)).toEqual([expect.stringContaining(digest)]);
    expect([256, 512, 1_024]).toContain(Object.values(kept)[0]);
  });
});
