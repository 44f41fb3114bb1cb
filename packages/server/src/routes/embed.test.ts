/** The embedding endpoints. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, MINILM, type TestApp, startTestApp } from "../testing/test-app.ts";

const BM25 = "sheaf/bm25";
const ABSENT = "Qwen/Qwen3-Embedding-0.6B";

let test: TestApp;
beforeAll(async () => {
  test = await startTestApp();
});
afterAll(() => test.close());

function embed(path: string, model: string, json: unknown): Promise<Answer> {
  return test.ask(`POST ${path}`, { json, headers: { "x-service-embedding-model": model } });
}

describe("dense", () => {
  it.each(["/embed", "/"])("POST %s gives one vector per text", async (path) => {
    const { status, body, headers } = await embed(path, MINILM, {
      texts: ["a cat", "a dog"],
      instructions: "",
    });
    expect(status).toBe(200);
    const { embeddings, num_tokens: tokens } = body as { embeddings: number[][]; num_tokens: number };
    expect(embeddings.map(({ length }) => length)).toEqual([384, 384]);
    expect(tokens).toBe(8);
    expect(headers["deprecation"]).toBe(path === "/" ? "true" : undefined);
  });

  it.each([
    ["a wrong body", MINILM, { texts: 1 }, 400],
    ["no model", "", { texts: ["a"], instructions: "" }, 400],
    ["absent weights", ABSENT, { texts: ["a"], instructions: "" }, 503],
  ])("POST / says that it is deprecated to %s too", async (...[, model, json, status]) => {
    const { status: answered, headers } = await embed("/", model, json);
    expect([answered, headers["deprecation"]]).toEqual([status, "true"]);
  });

  it("POST / says that it is deprecated to who has no key too", async () => {
    const { status, headers } = await test.ask("POST /", { json: {}, key: null });
    expect([status, headers["deprecation"]]).toEqual([401, "true"]);
  });

  it("knows the header that shipped clients send, and any Content-Type", async () => {
    const reply = await test.ask("POST /", {
      raw: '{"instructions":"","texts":["hello"]}',
      key: null,
      headers: {
        "x-chroma-token": "a-root-key-for-tests",
        "x-chroma-embedding-model": MINILM,
        "content-type": "text/plain",
      },
    });
    expect(reply.status).toBe(200);
  });

  it.each(["/embed", "/"])("POST %s cuts a text over the limit where the body says so", async (path) => {
    const long = `${"start ".repeat(300)}${"end ".repeat(300)}`;
    const ask = (truncate: unknown) =>
      embed(path, MINILM, { texts: [long, "short"], instructions: "", truncate });
    for (const truncate of [undefined, null, "none", false]) {
      expect((await ask(truncate)).status).toBe(413);
    }
    const replies = await Promise.all(["end", true, "start"].map(ask));
    for (const { status, headers, body } of replies) {
      expect([status, headers["x-truncated-inputs"]]).toEqual([200, "1"]);
      expect((body as { num_tokens: number }).num_tokens).toBe(256 + 3);
    }
    const [end, same, start] = replies.map(({ body }) => (body as { embeddings: number[][] }).embeddings[0]);
    expect(same).toEqual(end);
    expect(start).not.toEqual(end);
    expect((await ask("middle")).status).toBe(400);
  });

  it("gives nothing for no texts", async () => {
    expect((await embed("/embed", MINILM, { texts: [], instructions: "" })).body).toEqual({
      embeddings: [],
      num_tokens: 0,
    });
  });

  it.each([
    [{ texts: ["a"] }, 400],
    [{ texts: ["a"], instructions: null, task: "t" }, 400],
    [{ texts: ["a"], task: "", target: "" }, 200],
    [{ texts: ["a"], task: "nl_to_code", target: "query" }, 200],
    [{ texts: ["a"], task: "no_such_task", target: "query" }, 400],
    [{ texts: ["a"], instructions: "", task: "", target: "no_such_target" }, 400],
    [{ texts: [1], instructions: "" }, 400],
    [{ texts: "a", instructions: "" }, 400],
    [{ instructions: "" }, 400],
    [[], 400],
    [{ texts: ["a"], instructions: "", fetch_labels: true, fetch_tokens: "false" }, 400],
  ])("%j is %i", async (json, status) => {
    const reply = await embed("/embed", MINILM, json);
    expect(reply.status).toBe(status);
    if (status !== 200) expect(Object.keys(reply.body as object)).toEqual(["error"]);
  });

  it.each([
    ["/embed", BM25, 501],
    ["/", BM25, 501],
    ["/embed_sparse", MINILM, 501],
    ["/embed", ABSENT, 503],
    ["/embed_sparse", "prithivida/Splade_PP_en_v1", 503],
    ["/embed_sparse", ABSENT, 501],
    ["/embed", "no/such-model", 400],
    ["/embed_sparse", "no/such-model", 400],
  ])("POST %s with %s is %i", async (path, model, status) => {
    const reply = await embed(path, model, { texts: ["a"], instructions: "" });
    expect(reply.status).toBe(status);
    expect((reply.body as { error: string }).error).toContain(model);
    expect(reply.headers["retry-after"]).toBe(status === 503 ? "60" : undefined);
  });

  it("is 413 over the model's limit, naming the text", async () => {
    const reply = await embed("/embed", MINILM, { texts: ["a", "word ".repeat(300)], instructions: "" });
    expect(reply.status).toBe(413);
    expect(reply.text).toMatch(/texts\[1\].*302.*256/);
  });

  it.each([
    ["/embed", MINILM, 413],
    ["/embed", BM25, 501],
    ["/embed", ABSENT, 503],
    ["/embed_sparse", BM25, 400],
    ["/embed_sparse", MINILM, 400],
  ])("a text over the byte limit to %s with %s is %i", async (path, model, status) => {
    const texts = ["a", "w".repeat(LIMITS.textBytes + 1)];
    expect((await embed(path, model, { texts, instructions: "" })).status).toBe(status);
  });

  it("tells what a model reads of each text, where it is asked to", async () => {
    const ask = (path: string, model: string, more: object) =>
      embed(path, model, { texts: ["The ships", "unbelievably"], instructions: "", ...more });
    const dense = await ask("/embed", MINILM, { fetch_pieces: true });
    expect(dense.body).toMatchObject({
      num_tokens: 11,
      tokens: [
        { count: 4, pieces: ["[CLS]", "the", "ships", "[SEP]"] },
        { count: 7, pieces: ["[CLS]", "un", "##bel", "##ie", "##va", "##bly", "[SEP]"] },
      ],
    });
    const sparse = await ask("/embed_sparse", BM25, { fetch_pieces: "true" });
    expect(sparse.body).toMatchObject({ tokens: [{ count: 1, pieces: ["ships"] }, { count: 1 }] });
    for (const flag of [undefined, null, false])
      expect((await ask("/embed", MINILM, { fetch_pieces: flag })).body).not.toHaveProperty("tokens");
    const many = await embed("/embed", MINILM, {
      texts: Array(LIMITS.piecesTexts + 1).fill(""),
      instructions: "",
      fetch_pieces: true,
    });
    expect([many.status, many.body]).toEqual([400, { error: expect.stringContaining("texts: holds 101") }]);
  });

  it("takes as many texts as the limit says and no more", async () => {
    const texts = (count: number) => Array.from({ length: count }, () => "");
    const at = await embed("/embed_sparse", BM25, { texts: texts(LIMITS.embedTexts), instructions: "" });
    expect(at.status).toBe(200);
    const over = await embed("/embed_sparse", BM25, {
      texts: texts(LIMITS.embedTexts + 1),
      instructions: "",
    });
    expect(over.status).toBe(400);
  });
});

describe("sparse", () => {
  it.each([
    [{}, false],
    [{ fetch_labels: true }, true],
    [{ fetch_labels: false }, false],
    [{ fetch_tokens: "true" }, true],
    [{ fetch_tokens: "false" }, false],
    [{ fetch_labels: true, fetch_tokens: "true" }, true],
  ])("with %j", async (flags, labelled) => {
    const reply = await embed("/embed_sparse", BM25, {
      texts: ["railway bridges", "the"],
      task: "",
      target: "",
      ...flags,
    });
    expect(reply.status).toBe(200);
    expect(reply.headers["x-truncated-inputs"]).toBe("0");
    const { embeddings, num_tokens: tokens } = reply.body as {
      embeddings: Record<string, unknown[]>[];
      num_tokens: number;
    };
    expect(tokens).toBe(2);
    const [first, second] = embeddings;
    expect(first?.["indices"]).toHaveLength(2);
    expect(first?.["values"]).toHaveLength(2);
    expect(first?.["labels"] !== undefined).toBe(labelled);
    if (labelled) expect(new Set(first?.["labels"])).toEqual(new Set(["railway", "bridg"]));
    expect(second?.["indices"]).toEqual([]);
  });
});
