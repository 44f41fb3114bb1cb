import { Cancellation, LIMITS, SheafError, type WriteRequest } from "@sheaf/protocol";
import { packedFormOf } from "@sheaf/process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Parsing } from "./body-parsers.ts";
import { BodyWorkers } from "./body-workers.ts";

let workers: BodyWorkers;
beforeAll(() => {
  workers = new BodyWorkers({ threads: 1 });
});
afterAll(() => workers.close());

function parse(
  text: string,
  {
    owner = "a",
    signal = new Cancellation(),
    onBegin = () => {},
    ...parsing
  }: Partial<Parsing> & {
    owner?: string;
    signal?: Cancellation;
    onBegin?: () => void;
  } = {},
): Promise<unknown> {
  // In two pieces, cut anywhere.
  const bytes = new TextEncoder().encode(text);
  const cut = Math.floor(bytes.length / 3);
  const pieces = [bytes.slice(0, cut), bytes.slice(cut)].map(bufferOf);
  const task = { parser: "upsert" as const, args: [], isEmbedding: false, ...parsing, pieces };
  return workers.parse({ task, owner, signal, onBegin });
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer as ArrayBuffer;
}

const INTEGERS = Array.from({ length: 100_000 }, (_, i) => i % 100);
const WRITE = JSON.stringify({ ids: ["a"], embeddings: [[1, 2]], metadatas: [{ k: INTEGERS, t: "ä" }] });

describe("body workers", () => {
  it("parse as a handler would, and keep the packed form", async () => {
    const request = (await parse(WRITE)) as WriteRequest;
    expect(request.records[0]?.metadata?.get("k")).toEqual(Int8Array.from(INTEGERS));
    expect(request.records[0]?.metadata?.get("t")).toBe("ä");
    expect(packedFormOf(request)).toHaveLength(2);
    expect(await parse('{"name":"x-y"}', { parser: "createDatabase" })).toEqual({ name: "x-y" });
  });

  it("refuse as a handler would", async () => {
    await expect(parse('{"ids":[1]}')).rejects.toMatchObject({
      code: "unprocessable",
      message: "ids[0]: must be a string",
    });
    await expect(parse("{")).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(parse("{", { parser: "embed", isEmbedding: true })).rejects.toThrow(SheafError);
  });

  it("give owners their turns one after the other", async () => {
    const order: string[] = [];
    const begun = (owner: string) => () => order.push(owner);
    await Promise.all(
      ["a", "a", "a", "b", "c"].map((owner) => parse(WRITE, { owner, onBegin: begun(owner) })),
    );
    expect(order).toHaveLength(5);
    expect(order.indexOf("b")).toBeLessThan(order.lastIndexOf("a"));
    expect(order.indexOf("c")).toBeLessThan(order.lastIndexOf("a"));
    expect(workers.queued).toBe(0);
  });

  it("let go of what is aborted, waiting or at work, and go on", async () => {
    const [running, waiting] = [new Cancellation(), new Cancellation()];
    const large = `{"ids":[${"1,".repeat(8_000_000)}1]}`;
    const first = parse(large, { signal: running });
    const second = parse(WRITE, { signal: waiting });
    const third = parse(WRITE);
    waiting.abort(new SheafError("cancelled", "left"));
    await expect(second).rejects.toThrow("left");
    running.abort(new SheafError("timeout", "late"));
    await expect(first).rejects.toThrow("late");
    expect(await third).toMatchObject({ kind: "upsert" });
  });

  it("lose a thread to a body that needs too much memory, and only that request", async () => {
    const small = new BodyWorkers({ threads: 1, heapMegabytes: 32 });
    const bytes = new TextEncoder().encode(`{"ids":[${'["abcdefgh"],'.repeat(LIMITS.jsonContainers / 2)}1]}`);
    const task = { parser: "upsert" as const, args: [], isEmbedding: false };
    const signal = new Cancellation();
    const pieces = [bufferOf(bytes)];
    await expect(small.parse({ task: { ...task, pieces }, owner: "a", signal })).rejects.toMatchObject({
      code: "too_large",
    });
    const next = bufferOf(new TextEncoder().encode(WRITE));
    expect(await small.parse({ task: { ...task, pieces: [next] }, owner: "a", signal })).toMatchObject({
      kind: "upsert",
    });
    await small.close();
    const late = small.parse({ task: { ...task, pieces: [] }, owner: "a", signal });
    await expect(late).rejects.toMatchObject({ code: "unavailable" });
  });
});
