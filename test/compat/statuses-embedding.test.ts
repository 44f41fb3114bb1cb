/** Every status of the embedding routes, in the order in which they are checked. Their bodies are `{error}`. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { embeddingRefused, refusal } from "./testing/refusal.ts";
import type { Question } from "./testing/wire.ts";

const MINILM = "sentence-transformers/all-MiniLM-L6-v2";

let served: ServedSheaf;

beforeAll(async () => {
  served = await ServedSheaf.start({ env: { HF_HUB_OFFLINE: "1", HF_HOME: "/nonexistent" } });
});

afterAll(async () => {
  await served.dispose();
});

describe("embedding", () => {
  const model = (identifier: string | null) => ({ "x-chroma-embedding-model": identifier });
  const body = { texts: ["hello"], instructions: "" };
  const long = "word ".repeat(300);

  it.each<[string, Question, number, RegExp]>([
    [
      "no key",
      { path: "/embed", json: body, headers: { ...model(MINILM), "x-chroma-token": null } },
      401,
      /key/u,
    ],
    ["no key and no model", { path: "/embed", json: body, headers: { "x-chroma-token": null } }, 401, /key/u],
    ["no model", { path: "/embed", json: body }, 400, /x-service-embedding-model/u],
    [
      "an unknown model",
      { path: "/embed", json: body, headers: model("nobody/nothing") },
      400,
      /nobody\/nothing/u,
    ],
    ["broken JSON", { path: "/embed", body: "{", headers: model(MINILM) }, 400, /./u],
    [
      "a field twice",
      { path: "/embed", body: '{"texts":["a"],"texts":["b"],"instructions":""}', headers: model(MINILM) },
      400,
      /^texts: is given twice$/u,
    ],
    [
      "a foreign Content-Type and no JSON",
      { path: "/embed", body: "hello", headers: { ...model(MINILM), "content-type": "text/plain" } },
      400,
      /./u,
    ],
    ["no texts", { path: "/embed", json: { instructions: "" }, headers: model(MINILM) }, 400, /^texts: /u],
    [
      "a text that is none",
      { path: "/embed", json: { ...body, texts: [1] }, headers: model(MINILM) },
      400,
      /^texts\[0\]: /u,
    ],
    [
      "no instructions",
      { path: "/embed", json: { texts: ["x"] }, headers: model(MINILM) },
      400,
      /^instructions: /u,
    ],
    [
      "a task without a target",
      { path: "/embed", json: { texts: ["x"], task: "" }, headers: model(MINILM) },
      400,
      /instructions/u,
    ],
    [
      "an unknown task",
      { path: "/embed", json: { texts: ["x"], task: "cooking", target: "query" }, headers: model(MINILM) },
      400,
      /task/u,
    ],
    [
      "an unknown target",
      { path: "/embed", json: { texts: ["x"], task: "", target: "somebody" }, headers: model(MINILM) },
      400,
      /target/u,
    ],
    [
      "something else to cut",
      { path: "/embed", json: { ...body, truncate: "middle" }, headers: model(MINILM) },
      400,
      /^truncate: /u,
    ],
    [
      "a text over the limit that may not be cut",
      { path: "/embed", json: { ...body, texts: [long], truncate: false }, headers: model(MINILM) },
      413,
      /^texts\[0\]: /u,
    ],
    [
      "flags that contradict",
      {
        path: "/embed_sparse",
        json: { ...body, fetch_labels: true, fetch_tokens: "false" },
        headers: model("sheaf/bm25"),
      },
      400,
      /fetch_/u,
    ],
    [
      "a dense model at the sparse route",
      { path: "/embed_sparse", json: body, headers: model(MINILM) },
      501,
      /./u,
    ],
    [
      "a sparse model at the dense route",
      { path: "/embed", json: body, headers: model("sheaf/bm25") },
      501,
      /./u,
    ],
    ["a sparse model at the old route", { path: "/", json: body, headers: model("sheaf/bm25") }, 501, /./u],
    [
      "a model without weights",
      { path: "/embed", json: body, headers: model("BAAI/bge-m3") },
      503,
      /BAAI\/bge-m3/u,
    ],
    [
      "a text over the model's limit",
      { path: "/embed", json: { ...body, texts: ["x", long] }, headers: model(MINILM) },
      413,
      /^texts\[1\].*256/u,
    ],
    ["GET", { path: "/embed" }, 405, /./u],
  ])("%s", async (_, question, status, message) => {
    expect(await refusal(served, question)).toEqual(embeddingRefused(status, message));
  });

  it("a sparse body over the limit is 400, because the route knows no 413", async () => {
    const body = new Uint8Array(LIMITS.bodyBytes + 1);
    const question = { path: "/embed_sparse", body, headers: model("sheaf/bm25") };
    expect(await refusal(served, question)).toEqual(embeddingRefused(400, /./u));
  });
});
