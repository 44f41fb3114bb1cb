import { once } from "node:events";
import { Cancellation, JsonFloat, SheafError } from "@sheaf/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { Channel } from "./channel.ts";
import { packInTurns, packMessage, packedFormOf, unpackMessage } from "./packed-message.ts";
import { RpcClient, type RpcHandler, RpcServer } from "./rpc.ts";
import { closeSockets, socketPair } from "./testing/socket-pair.ts";

afterEach(closeSockets);

const MESSAGE = {
  texts: Array.from({ length: 20_000 }, (_, i) => (i % 3 === 0 ? `täxt ${i} €` : `text ${i}`)),
  records: Array.from({ length: 5_000 }, (_, i) => ({
    id: i,
    metadata: new Map([["k", BigInt(i)]]),
    gone: null,
  })),
  /** A long part within a part, of names that are new. */
  nested: [Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`name ${i}`, { value: [i] }]))],
  short: Int16Array.of(1, -2),
  long: Int8Array.from({ length: 100_000 }, (_, i) => i),
  longest: BigInt64Array.from({ length: 300_000 }, (_, i) => BigInt(i) << 40n),
  beyond: 2n ** 64n - 1n,
  float: new JsonFloat(3),
  absent: undefined,
};

/** Answers with what it got, and with how long its event loop did not turn at most. */
async function echo() {
  const [near, far] = await socketPair();
  const heard: string[] = [];
  void new RpcServer(
    new Channel(far),
    async (method, args) => {
      heard.push(method);
      return method === "count" ? (args[1] as typeof MESSAGE).records.length : args[0];
    },
    { onUnexpected: () => {} },
  );
  const client = new RpcClient(new Channel(near), { closedError: () => new Error("closed") });
  return { client, heard };
}

describe("a packed message", () => {
  it("is unpacked as it was, with turns in between", async () => {
    const packed = packMessage(MESSAGE);
    expect(packed).toHaveLength(3);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const copy = await unpackMessage(packed);
    clearInterval(timer);
    expect(copy).toStrictEqual(MESSAGE);
    expect(packedFormOf(copy)).toBe(packed);
    expect(packedFormOf(MESSAGE)).toBeUndefined();
    expect(turns).toBeGreaterThan(0);
  });

  it("is the same if it is packed in turns", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    // Between two turns others encode messages of their own.
    const other = setInterval(() => packMessage({ texts: ["other"] }), 0);
    const message = {
      ...MESSAGE,
      nothing: [{}, [], new Map()],
      // Aligned wherever a buffer ends, and longer than one.
      unequal: Array.from({ length: 3_000 }, (_, i) => ["x".repeat(i % 501), Float64Array.of(i)]),
      documents: ["d".repeat(1_300_001), Int16Array.of(7), "€".repeat(400_001), Int32Array.of(8)],
    };
    await packInTurns(message);
    clearInterval(timer);
    clearInterval(other);
    const bytes = (packed: readonly Uint8Array[] = []): Buffer => Buffer.concat(packed);
    expect(bytes(packedFormOf(message)).equals(bytes(packMessage(message)))).toBe(true);
    expect(await unpackMessage(packedFormOf(message)!)).toStrictEqual(message);
    expect(turns).toBeGreaterThan(0);
    const signal = new Cancellation();
    const packed = packInTurns({ ...MESSAGE }, signal);
    signal.abort(new SheafError("cancelled", "left"));
    await expect(packed).rejects.toThrow("left");
  });

  it("stops at an abort", async () => {
    const signal = new Cancellation();
    const unpacked = unpackMessage(packMessage(MESSAGE), signal);
    signal.abort(new SheafError("cancelled", "left"));
    await expect(unpacked).rejects.toThrow("left");
  });

  it("crosses to another process as it is, while other calls come between", async () => {
    const { client, heard } = await echo();
    const message = await unpackMessage(packMessage(MESSAGE));
    const large = client.call("count", ["ref", message]);
    const small = client.call("small", ["a"]);
    expect(await small).toBe("a");
    expect(await large).toBe(5_000);
    expect(heard).toEqual(["small", "count"]);
    expect(await client.call("echo", [message])).toStrictEqual(MESSAGE);
  });

  it("is forgotten where its call is cancelled before it is sent", async () => {
    const { client, heard } = await echo();
    const message = await unpackMessage(packMessage(MESSAGE));
    const signal = new Cancellation();
    const call = client.call("count", ["ref", message], { signal });
    signal.abort(new SheafError("cancelled", "left"));
    await expect(call).rejects.toThrow("left");
    expect(await client.call("small", ["a"])).toBe("a");
    expect(await client.call("count", ["ref", message])).toBe(5_000);
    expect(heard).toEqual(["small", "count"]);
  });

  it("is answered while shorter answers come between", async () => {
    const [near, far] = await socketPair();
    const long = { document: Buffer.alloc(32_000_000, "long"), texts: MESSAGE.texts };
    const handler: RpcHandler = async (method, args) => {
      if (method !== "long") return args[0];
      await packInTurns(long);
      return long;
    };
    void new RpcServer(new Channel(far), handler, { onUnexpected: () => {} });
    const unclaimed: unknown[] = [];
    const client = new RpcClient(new Channel(near), {
      closedError: () => new Error("closed"),
      onUnclaimed: (value) => unclaimed.push(value),
    });
    const order: string[] = [];
    const askLong = async (signal?: Cancellation): Promise<void> => {
      const { document, texts } = (await client.call("long", [], { signal })) as typeof long;
      expect(document.equals(long.document)).toBe(true);
      expect(texts).toStrictEqual(long.texts);
      order.push("long");
    };
    const answer = askLong();
    // As soon as the first bytes of the long answer have come.
    await once(near, "data");
    expect(await client.call("short", ["short"])).toBe("short");
    order.push("short");
    await answer;
    expect(order).toEqual(["short", "long"]);

    const signal = new Cancellation();
    const cancelled = askLong(signal);
    await once(near, "data");
    signal.abort(new SheafError("cancelled", "left"));
    await expect(cancelled).rejects.toThrow("left");
    await askLong();
    // Of the cancelled one nothing came whole.
    expect(unclaimed).toEqual([]);
  });
});
