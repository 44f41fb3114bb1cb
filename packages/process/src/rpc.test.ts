import { afterEach, describe, expect, it } from "vitest";
import { Channel } from "./channel.ts";
import { RpcClient, type RpcHandler, RpcServer } from "./rpc.ts";
import { closeSockets, socketPair } from "./testing/socket-pair.ts";

afterEach(closeSockets);

const closedError = (): Error => new Error("closed");

/** A channel to the server, and the frames that come from it. */
async function serve(handler: RpcHandler) {
  const [near, far] = await socketPair();
  const server = new RpcServer(new Channel(far), handler, () => {});
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
});

describe("RpcClient", () => {
  it("wants to know only when an expected call takes all cores", async () => {
    const { client, frames } = await askOneWhoTells();
    expect(await client.call("search", [1], { takesCores: true })).toBe(true);
    client.expectCall();
    expect(await client.call("search", [2])).toBe(true);
    client.expectCall();
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
});
