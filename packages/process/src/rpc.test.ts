import { afterEach, describe, expect, it } from "vitest";
import { Cancellation, SheafError } from "@sheaf/protocol";
import { Channel } from "./channel.ts";
import { packMessage, packedFormOf, unpackMessage } from "./packed-message.ts";
import { RpcClient, type RpcHandler, RpcServer } from "./rpc.ts";
import { closeSockets, socketPair } from "./testing/socket-pair.ts";

afterEach(closeSockets);

const closedError = (): Error => new Error("closed");

/** A channel to the server, and the frames that come from it. */
async function serve(handler: RpcHandler) {
  const [near, far] = await socketPair();
  const server = new RpcServer(new Channel(far), handler, { onUnexpected: () => {} });
  const channel = new Channel(near);
  const frames: unknown[] = [];
  const answered = new Promise<void>((resolve) => {
    channel.onMessage((frame) => {
      frames.push(frame);
      if ((frame as { type: string }).type === "result") resolve();
    });
  });
  return { server, channel, frames, answered };
}

/** A client, and the frames that it sends; calls are answered with `true`, after word that this is near. */
async function askOneWhoTells() {
  const [near, far] = await socketPair();
  const there = new Channel(far);
  const frames: unknown[] = [];
  there.onMessage((message) => {
    frames.push(message);
    const { type, id } = message as { type: string; id: number };
    if (type !== "call") return;
    there.send({ type: "near", id });
    there.send({ type: "near", id: id + 7 });
    there.send({ type: "result", id, value: true });
  });
  return { client: new RpcClient(new Channel(near), { closedError }), frames };
}

describe("RpcServer", () => {
  it("tells a caller who wants to know that the answer is near", async () => {
    const handler: RpcHandler = async (_, args, options) => {
      options.onNear();
      return args[0];
    };
    const asked = await serve(handler);
    asked.channel.send({ type: "call", id: 4, method: "echo", args: ["a"], tellNear: true });
    await asked.answered;
    expect(asked.frames).toMatchObject([
      { type: "near", id: 4 },
      { type: "result", id: 4, value: "a" },
    ]);
    const other = await serve(handler);
    other.channel.send({ type: "call", id: 4, method: "echo", args: ["a"] });
    await other.answered;
    expect(other.frames).toMatchObject([{ type: "result", id: 4, value: "a" }]);
  });

  it("sends the answers of owners in turn once the other side reads slower", async () => {
    const [near, far] = await socketPair();
    let asked = 0;
    const handler: RpcHandler = async (_, [owner]) => {
      asked++;
      return owner === "a" ? Buffer.alloc(1_000_000) : "small";
    };
    const ownerOf = ([owner]: readonly unknown[]): string => owner as string;
    void new RpcServer(new Channel(far), handler, { onUnexpected: () => {}, ownerOf });
    const channel = new Channel(near);
    const ids: number[] = [];
    const all = new Promise<void>((resolve) => {
      channel.onMessage((frame) => {
        ids.push((frame as { id: number }).id);
        if (ids.length === 21) resolve();
      });
    });
    near.pause();
    for (let id = 0; id < 20; id++) channel.send({ type: "call", id, method: "read", args: ["a"] });
    channel.send({ type: "call", id: 20, method: "read", args: ["b"] });
    await expect.poll(() => asked).toBe(21);
    near.resume();
    await all;
    expect(ids.indexOf(20)).toBeLessThan(3);
    expect(ids.filter((id) => id < 20)).toEqual(Array.from({ length: 20 }, (_, id) => id));
  });
});

describe("RpcClient", () => {
  it("wants to know only when an expected call takes all cores", async () => {
    const { client, frames } = await askOneWhoTells();
    expect(await client.call("search", [1], { takesCores: true })).toBe(true);
    client.expectCall("search");
    expect(await client.call("search", [2])).toBe(true);
    client.expectCall("hybrid search");
    expect(await client.call("search", [3], { takesCores: true })).toBe(true);
    const [plain, , awake, , asleep] = frames;
    expect(frames.map((frame) => (frame as { type: string }).type)).toEqual([
      "call",
      "expect",
      "call",
      "expect",
      "call",
    ]);
    for (const call of [plain, awake]) expect(call).not.toHaveProperty("tellNear");
    expect(asleep).toMatchObject({ args: [3], tellNear: true });
  });

  it("announces no calls of a kind whose answers take long", async () => {
    const [near, far] = await socketPair();
    const server = new Channel(far);
    const frames: string[] = [];
    const client = new RpcClient(new Channel(near), { closedError });
    server.onMessage((message) => {
      const { type, id } = message as { type: string; id: number };
      frames.push(type);
      if (type === "call") setTimeout(() => server.send({ type: "result", id, value: null }), 20);
    });
    for (const kind of ["write", "write", "read"]) {
      client.expectCall(kind);
      await client.call(kind, []);
    }
    expect(frames).toEqual(["expect", "call", "call", "expect", "call"]);
  });

  it("hands packed arguments on as they came, where it relays the method", async () => {
    const [there, seen]: [unknown[], unknown[]] = [[], []];
    const serveHere = async (
      handler: RpcHandler,
      relays: (method: string) => boolean,
    ): Promise<RpcClient> => {
      const [near, far] = await socketPair();
      const hooks = { onUnexpected: () => {}, relays };
      const answer = (): RpcServer => new RpcServer(new Channel(far), handler, hooks);
      answer();
      return new RpcClient(new Channel(near), { closedError });
    };
    const last = await serveHere(
      async (_, args) => void there.push(args),
      () => false,
    );
    const relay: RpcHandler = async (method, args) => {
      seen.push(args[1]);
      await last.call(method, args);
    };
    const first = await serveHere(relay, (method) => method === "write");
    const message = {
      ids: ["a", "b"],
      vector: Float32Array.of(1, 2),
      bytes: new Uint8Array(100_000).fill(7),
    };
    for (const method of ["write", "search"])
      await first.call(method, ["whose", await unpackMessage(packMessage(message))]);
    expect(there).toStrictEqual([
      ["whose", message],
      ["whose", message],
    ]);
    expect(seen).toStrictEqual([{}, message]);
    expect(packedFormOf(seen[0])?.map(({ length }) => length)).toEqual(
      packMessage(message).map(({ length }) => length),
    );
  });

  it("keeps what an aborted call was made of until the other side works on it no more", async () => {
    const events: string[] = [];
    const ends: (() => void)[] = [];
    const [near, far] = await socketPair();
    const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
    const answer = (): RpcServer => new RpcServer(new Channel(far), work, { onUnexpected: () => {} });
    answer();
    const client = new RpcClient(new Channel(near), { closedError });
    const call = (name: string, arg: unknown): { signal: Cancellation; over: Promise<unknown> } => {
      const signal = new Cancellation();
      const keep = (): (() => void) => {
        events.push(`keeps ${name}`);
        return () => events.push(`lets ${name} go`);
      };
      return { signal, over: client.call("work", [arg], { signal, keep }).catch((error: unknown) => error) };
    };
    const answered = call("answered", 1);
    const left = call("left", 2);
    // Its arguments are on their way in parts, and the call itself is never made.
    const parts = call("parts", await unpackMessage(packMessage({ bytes: new Uint8Array(8_000_000) })));
    parts.signal.abort(new SheafError("cancelled", "left"));
    await expect.poll(() => events).toEqual(["keeps parts", "lets parts go"]);
    await expect.poll(() => ends.length).toBe(2);
    left.signal.abort(new SheafError("cancelled", "left"));
    expect(await left.over).toMatchObject({ message: "left" });
    ends[0]!();
    await answered.over;
    expect(events.slice(2)).toEqual(["keeps left"]);
    ends[1]!();
    await expect.poll(() => events.slice(3)).toEqual(["lets left go"]);
    // The end of the other side is the end of its work.
    const last = call("last", 3);
    last.signal.abort(new SheafError("cancelled", "left"));
    client.rejectAll();
    expect(events.slice(4)).toEqual(["keeps last", "lets last go"]);
  });
});
