import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClusterSecret, PeerListener, ServedPeers } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { EmbedRequest, Embedder } from "../embedder.ts";
import { fixtureFolder } from "../graph/testing/fixture-models.ts";
import { LocalEmbedder } from "../local-embedder.ts";
import { ClusterEmbedder } from "./cluster-embedder.ts";
import { embedService } from "./embed-service.ts";

const SECRET = new ClusterSecret("a-secret-of-32-characters-or-more");
const HOST = "127.0.0.1";
const BGE = "BAAI/bge-m3";
const SPLADE = "prithivida/Splade_PP_en_v1";
const FOLDERS = {
  [BGE]: { path: fixtureFolder("tiny-xlmr-cls") },
  [SPLADE]: { path: fixtureFolder("tiny-bert-mlm-splade") },
};

interface Node {
  readonly embedder: LocalEmbedder;
  readonly listener: PeerListener;
  readonly served: ServedPeers;
  /** Of its methods but `models`, as they are called. */
  readonly calls: string[];
}

const open: LocalEmbedder[] = [];
afterAll(async () => void (await Promise.all(open.map((embedder) => embedder.close()))));

function localOf(models: Readonly<Record<string, { readonly path: string }>>): LocalEmbedder {
  const embedder = new LocalEmbedder({ replicas: 1, batchTokens: 512, models });
  open.push(embedder);
  return embedder;
}

/** Their models stay loaded for all tests. */
const [FIRST, SECOND, HERE] = [localOf(FOLDERS), localOf(FOLDERS), localOf(FOLDERS)];
const KNOWING = localOf({});

async function nodeOf(embedder: LocalEmbedder, characters?: number): Promise<Node> {
  const calls: string[] = [];
  const { isReady, connect } = embedService(embedder, characters);
  const counted = (emit: Parameters<typeof connect>[0]) => {
    const session = connect(emit);
    const handle: typeof session.handle = (method, args, options) => {
      if (method !== "models") calls.push(method);
      return session.handle(method, args, options);
    };
    return { ...session, handle };
  };
  const served = new ServedPeers({ isReady, connect: counted }, () => expect.unreachable());
  const listener = await PeerListener.open({
    ...{ host: HOST, port: 0, secret: SECRET, onPeer: (channel) => served.serve(channel) },
  });
  onTestFinished(() => listener.close());
  return { embedder, listener, served, calls };
}

/** Knows the models of all nodes. */
async function callerOf(
  nodes: readonly Node[],
  { runsModels = false, local = KNOWING } = {},
): Promise<ClusterEmbedder> {
  // What is behind it goes on after the test.
  const caller = new ClusterEmbedder({ secret: SECRET, local: unclosed(local), runsModels });
  onTestFinished(() => caller.close());
  caller.update(nodes.map(({ listener: { port } }) => ({ host: HOST, port })));
  await expect.poll(() => caller.measure.nodes).toBe(nodes.length);
  if (nodes.length > 0) await expect.poll(() => caller.model(BGE).available).toBe(true);
  return caller;
}

function unclosed(embedder: Embedder): Embedder {
  return new Proxy(embedder, {
    get(target, name): unknown {
      if (name === "close") return () => Promise.resolve();
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const request = (texts: readonly string[], rest: Partial<EmbedRequest> = {}): EmbedRequest => ({
  ...{ model: BGE, texts, instruction: "", truncate: "none" },
  ...rest,
});

/** Of the same length, so that no batch depends on when which text came. */
const TEXTS = ["a ship in port", "the tide is in", "a loaf of bread"];

describe("texts embedded by a node", () => {
  it("have the vectors, counts and tokens that they have here, to the bit", async () => {
    const here = HERE;
    const caller = await callerOf([await nodeOf(FIRST)]);
    for (const text of TEXTS) {
      const asked = request([text], { tokens: 10 });
      expect(await caller.dense(asked)).toEqual(await here.dense(asked));
      const sparse = { ...asked, model: SPLADE };
      expect(await caller.sparse(sparse)).toEqual(await here.sparse(sparse));
    }
    expect(await caller.identity(BGE)).toEqual(await here.identity(BGE));
    const split = { model: BGE, text: TEXTS.join(". ").repeat(20), instruction: "" } as const;
    const rules = { by: "sentences", tokens: 32, overlap: 0, most: 100 } as const;
    expect(await caller.split({ ...split, ...rules })).toEqual(await here.split({ ...split, ...rules }));
    const words = { model: "sheaf/bm25", texts: TEXTS, instruction: "", truncate: "end" } as const;
    expect(await caller.sparse(words)).toEqual(await here.sparse(words));
  });

  it("cross in pieces where they are long", async () => {
    const caller = await callerOf([await nodeOf(FIRST)]);
    const texts = Array.from({ length: 600 }, (_, i) => `${i} `.padEnd(1_000, "x"));
    const { vectors, truncatedInputs } = await caller.dense(request(texts, { truncate: "end" }));
    expect(vectors).toHaveLength(texts.length);
    expect(truncatedInputs).toBe(texts.length);
  });

  it("are refused as they are here, with the caller's names of texts", async () => {
    const caller = await callerOf([await nodeOf(FIRST)]);
    const long = request(["short", "word ".repeat(10_000)], { describe: (i) => `record "${i}"` });
    await expect(caller.dense(long)).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/^record "1": \d+ (tokens|characters), the limit/u),
    });
    await expect(caller.dense(request(["a"], { model: "no/such" }))).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await expect(caller.sparse(request(["a"]))).rejects.toMatchObject({ code: "unimplemented" });
  });

  it("have their tokens counted by the caller, once and before the model runs", async () => {
    const node = await nodeOf(FIRST);
    const caller = await callerOf([node]);
    const counts: number[] = [];
    const admitTokens = (count: number): Promise<void> => {
      counts.push(count);
      return Promise.resolve();
    };
    const { numTokens } = await caller.dense(request(TEXTS), { admitTokens });
    expect(counts).toEqual([numTokens]);
    const refuse = (): Promise<void> =>
      Promise.reject(new SheafError("rate_limited", "no tokens left", { retryAfterSeconds: 7 }));
    await expect(caller.dense(request(TEXTS), { admitTokens: refuse })).rejects.toMatchObject({
      ...{ code: "rate_limited", message: "no tokens left", retryAfterSeconds: 7 },
    });
    expect(node.calls).toEqual(["dense", "admit", "dense", "admit"]);
  });

  it("are cancelled on the node with the call", async () => {
    const node = await nodeOf(FIRST);
    const caller = await callerOf([node]);
    const stop = new AbortController();
    const waiting = caller.dense(request(TEXTS), {
      signal: stop.signal,
      // Nobody answers.
      admitTokens: () => new Promise(() => {}),
    });
    await expect.poll(() => node.calls).toEqual(["dense"]);
    stop.abort(new SheafError("timeout", "too long"));
    await expect(waiting).rejects.toMatchObject({ code: "timeout" });
    await expect.poll(() => caller.measure.inFlight).toBe(0);
  });
});

describe("tenants of a node", () => {
  it("are told apart: one that has too much under way delays no other", async () => {
    const caller = await callerOf([await nodeOf(FIRST, 100)]);
    const stop = new AbortController();
    const tenOf = (text: string): readonly string[] =>
      Array.from({ length: 10 }, (_, i) => `text ${text}${i}`);
    // Waits for its word with what it has.
    const counted = new Promise<void>((told) => {
      const admitTokens = (): Promise<void> => {
        told();
        return new Promise(() => {});
      };
      const waiting = { owner: "greedy", signal: stop.signal, admitTokens };
      caller.dense(request(tenOf("x")), waiting).catch(() => {});
    });
    await counted;
    const more = request(tenOf("y"));
    await expect(caller.dense(more, { owner: "greedy" })).rejects.toMatchObject({ code: "rate_limited" });
    expect((await caller.dense(more, { owner: "other" })).vectors).toHaveLength(10);
    stop.abort(new SheafError("timeout", "too long"));
    await expect.poll(() => caller.dense(more, { owner: "greedy" }).catch(() => null)).not.toBeNull();
  });
});

describe("several embed nodes", () => {
  it("share what is under way, and an idle model stays on one of them", async () => {
    const nodes = [await nodeOf(FIRST), await nodeOf(SECOND)];
    const caller = await callerOf(nodes);
    const counts = (): readonly number[] => nodes.map(({ calls }) => calls.length).toSorted((a, b) => a - b);
    // So many that no second node is asked for them after a while.
    const many = request(Array.from({ length: 64 }, (_, i) => `text ${i}`));
    for (let i = 0; i < 3; i++) await caller.dense(many);
    expect(counts()).toEqual([0, 3]);
    await Promise.all([caller.dense(many), caller.dense(many)]);
    expect(counts()).toEqual([1, 4]);
  });

  it("take over what one of them had begun", async () => {
    const nodes = [await nodeOf(FIRST), await nodeOf(SECOND)];
    const caller = await callerOf(nodes);
    let isAsked = false;
    // The first one is asked, and ends before it hears whether it may go on.
    const admitTokens = async (): Promise<void> => {
      if (isAsked) return;
      isAsked = true;
      await nodes.find(({ calls }) => calls.length > 0)?.listener.close();
    };
    const many = request(Array.from({ length: 64 }, (_, i) => `text ${i}`));
    expect((await caller.dense(many, { admitTokens })).vectors).toHaveLength(64);
    expect(nodes.map(({ calls }) => calls[0])).toEqual(["dense", "dense"]);
    expect(caller.measure).toMatchObject({ nodes: 1, inFlight: 0, alone: 0 });
  });

  it("hear the word of a caller for what they have begun when they leave, and are forgotten", async () => {
    const node = await nodeOf(FIRST);
    const caller = await callerOf([node]);
    let left: Promise<void> | undefined;
    const admitTokens = async (): Promise<void> => {
      left = node.served.leave(60_000);
      await expect.poll(() => caller.measure.nodes).toBe(0);
    };
    expect((await caller.dense(request(["a"]), { admitTokens })).vectors).toHaveLength(1);
    await left;
    caller.update([]);
    expect(caller.model(BGE).available).toBe(false);
  });

  it("never mix vectors of two weights in one collection", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-other-weights-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(FOLDERS[BGE].path, folder, { recursive: true });
    // The same weights in another file.
    rmSync(join(folder, "onnx"), { recursive: true });
    const [one, two] = [await nodeOf(FIRST), await nodeOf(localOf({ ...FOLDERS, [BGE]: { path: folder } }))];
    const digests = await Promise.all([one, two].map(({ embedder }) => embedder.identity(BGE)));
    expect(digests[0]?.digest).not.toBe(digests[1]?.digest);
    const caller = await callerOf([one, two]);
    for (const [i, { calls }] of [one, two].entries()) {
      const before = calls.length;
      await caller.dense(request(["a"], { weights: digests[i]!.digest }));
      expect(calls.length).toBeGreaterThan(before);
    }
    await expect(caller.dense(request(["a"], { weights: "sha256:none" }))).rejects.toMatchObject({
      code: "model_mismatch",
    });
  });
});

describe("without an embed node", () => {
  it("a server embeds itself where it may, and says so where it may not", async () => {
    const able = await callerOf([], { local: HERE, runsModels: true });
    expect((await able.dense(request(["a"]))).vectors).toHaveLength(1);
    expect(able.measure).toEqual({ nodes: 0, inFlight: 0, alone: 1 });
    const unable = await callerOf([], { local: HERE });
    expect(unable.model(BGE).available).toBe(false);
    await expect(unable.dense(request(["a"]))).rejects.toMatchObject({
      ...{ code: "unavailable", retryAfterSeconds: 1 },
      message: expect.stringContaining("no embed node"),
    });
    await expect(unable.identity(BGE)).rejects.toMatchObject({ code: "unavailable" });
    expect(() => unable.pull(BGE)).toThrow("embed nodes");
    const words = { model: "sheaf/bm25", texts: TEXTS, instruction: "", truncate: "end" } as const;
    expect((await unable.sparse(words)).vectors).toHaveLength(TEXTS.length);
  });

  it("a server that may embeds what its last node had begun", async () => {
    const node = await nodeOf(FIRST);
    const caller = await callerOf([node], { local: HERE, runsModels: true });
    const admitTokens = (): Promise<void> => node.listener.close();
    expect((await caller.dense(request(["a"]), { admitTokens })).vectors).toHaveLength(1);
    expect(caller.measure).toMatchObject({ nodes: 0, alone: 1 });
  });

  it("a model that no node has is not available", async () => {
    const caller = await callerOf([await nodeOf(FIRST)]);
    const model = "Qwen/Qwen3-Embedding-0.6B";
    await expect(caller.dense(request(["a"], { model }))).rejects.toMatchObject({
      code: "model_unavailable",
    });
  });
});
