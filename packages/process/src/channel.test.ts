import { defaultMaxListeners, once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { Channel } from "./channel.ts";
import { closeSockets, socketPair } from "./testing/socket-pair.ts";

afterEach(closeSockets);

function receive(channel: Channel, count: number): Promise<unknown[]> {
  return new Promise((resolve) => {
    const received: unknown[] = [];
    channel.onMessage((message) => {
      received.push(message);
      if (received.length === count) resolve(received);
    });
  });
}

/** Its length, once it has come. */
function taken(channel: Channel, part: number): number | null {
  try {
    return channel.takePart(part).length;
  } catch {
    return null;
  }
}

describe("Channel", () => {
  it("keeps bigint, -0, NaN, maps, undefined and typed arrays to the bit", async () => {
    const [near, far] = await socketPair();
    const sender = new Channel(near);
    const receiver = new Channel(far);
    const message = {
      big: 2n ** 63n - 1n,
      negativeZero: -0,
      nan: Number.NaN,
      infinite: -Infinity,
      map: new Map<string, unknown>([
        ["a", 1n],
        ["b", undefined],
      ]),
      floats: new Float32Array([1.5, -0, 3.4e38]),
      odd: new Uint8Array([1, 2, 3]),
      ints: new BigInt64Array([-(2n ** 63n), 5n]),
      text: "\u{1F469}\u200D\u{1F680} \uD800",
    };
    const received = receive(receiver, 1);
    sender.send(message);
    const [copy] = await received;
    expect(copy).toEqual(message);
    expect(Object.is((copy as typeof message).negativeZero, -0)).toBe(true);
    expect(Object.is((copy as typeof message).floats[1], -0)).toBe(true);
  });

  it("delivers frames whole and in order however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.string(), fc.uint8Array({ maxLength: 300 }), fc.integer()), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.integer({ min: 1, max: 64 }),
        async (messages, cut) => {
          const [recorded, sink] = await socketPair();
          const chunks: Buffer[] = [];
          sink.on("data", (chunk: Buffer) => chunks.push(chunk));
          const sender = new Channel(recorded);
          for (const message of messages) sender.send(message);
          await new Promise<void>((resolve) => {
            sink.once("end", () => resolve());
            recorded.end();
          });
          const bytes = Buffer.concat(chunks);

          const [near, far] = await socketPair();
          const received = receive(new Channel(far), messages.length);
          for (let at = 0; at < bytes.length; at += cut) far.emit("data", bytes.subarray(at, at + cut));
          expect(await received).toEqual(messages);
          near.destroy();
        },
      ),
      { numRuns: 25 },
    );
  });

  it("sends answers of one turn together, and before what is sent at once", async () => {
    const [near, far] = await socketPair();
    if (near.connecting) await once(near, "connect");
    const sender = new Channel(near);
    const received = receive(new Channel(far), 5);
    for (const answer of ["a", "b"]) sender.sendInTurn(answer, "owner");
    expect(near.writableLength).toBeGreaterThan(0);
    sender.send("c");
    expect(near.writableLength).toBe(0);
    for (const answer of ["d", "e"]) sender.sendInTurn(answer, "owner");
    sender.close();
    expect(await received).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("carries a message of several megabytes", async () => {
    const [near, far] = await socketPair();
    const body = new Float32Array(2_000_000).map((_, index) => index / 7);
    const received = receive(new Channel(far), 1);
    new Channel(near).send(body);
    const [copy] = (await received) as [Float32Array];
    expect(Buffer.from(copy.buffer, copy.byteOffset, copy.byteLength).equals(Buffer.from(body.buffer))).toBe(
      true,
    );
  });

  it("closes on a frame that is no frame", async () => {
    for (const bytes of [
      Buffer.from([0, 0, 0, 0]),
      Buffer.from([255, 255, 255, 255]),
      Buffer.from([2, 0, 0, 0, 1, 2]),
    ]) {
      const [near, far] = await socketPair();
      const receiver = new Channel(far);
      const closed = new Promise<void>((resolve) => receiver.onClose(resolve));
      near.write(bytes);
      await closed;
      expect(receiver.closed).toBe(true);
    }
  });

  it("refuses what cannot be cloned and stays usable", async () => {
    const [near, far] = await socketPair();
    const sender = new Channel(near);
    const received = receive(new Channel(far), 1);
    expect(() => sender.send(() => 1)).toThrow();
    sender.send("after");
    expect(await received).toEqual(["after"]);
  });

  it("does nothing when it sends after the end", async () => {
    const [near, far] = await socketPair();
    const sender = new Channel(near);
    const closed = new Promise<void>((resolve) => sender.onClose(resolve));
    far.destroy();
    await closed;
    expect(() => sender.send("nobody")).not.toThrow();
  });

  it("has any number of messages wait for a socket that takes no more, without a word, until it does or closes", async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): number => warnings.push(name);
    process.on("warning", warn);
    const [near, far] = await socketPair();
    const sender = new Channel(near);
    const part = new Uint8Array(1024 * 1024);
    const sent = Array.from({ length: 2 * defaultMaxListeners }, () => sender.sendParts([part]));
    await nextTurn();
    const receiver = new Channel(far);
    for (const [number] of await Promise.all(sent)) {
      await expect.poll(() => taken(receiver, number!)).toBe(part.length);
    }
    far.pause();
    const lost = Array.from({ length: 2 * defaultMaxListeners }, () => sender.sendParts([part]));
    await nextTurn();
    near.destroy();
    await Promise.all(lost);
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });

  it("closes where parts that no message has named take more than it allows, and not where they are taken", async () => {
    const [near, far] = await socketPair();
    const sender = new Channel(near);
    const receiver = new Channel(far, 100_000);
    const closed = new Promise<string>((resolve) => receiver.onClose(() => resolve("closed")));
    const part = new Uint8Array(60_000);
    for (let round = 0; round < 3; round++) {
      const received = receive(receiver, 1);
      const [number] = await sender.sendParts([part]);
      sender.send("named");
      await received;
      expect(receiver.takePart(number!)).toHaveLength(part.length);
    }
    expect(receiver.closed).toBe(false);
    await sender.sendParts([part, part]);
    expect(await closed).toBe("closed");
  });
});
