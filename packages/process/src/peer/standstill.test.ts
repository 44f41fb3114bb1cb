/** Calls that a peer reads after it has stood still: both ends are in this process, which stands still as a whole. */
import { Cancellation, abortError } from "@sheaf/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Channel } from "../channel.ts";
import { ClusterSecret } from "./cluster-secret.ts";
import { CallersSign } from "./callers-sign.ts";
import { PeerPool } from "./peer-pool.ts";
import { type PeerAddress, PeerListener, connectToPeer } from "./peer-sockets.ts";
import { ServedPeers } from "./serve-peer.ts";
import { StandstillWatch } from "./standstill-watch.ts";

const SECRET = new ClusterSecret("a-secret-of-32-characters-or-more");
const HOST = "127.0.0.1";

/** Longer than what makes its callers doubtful, shorter than what ends a connection. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
}

interface Served {
  readonly address: PeerAddress;
  /** What was begun. */
  readonly begun: string[];
  readonly callersWait: () => Promise<unknown> | undefined;
}

/** Begins what it is asked for, and ends `hold` when its caller is gone. */
async function serve(): Promise<Served> {
  const begun: string[] = [];
  let callersWait: Served["callersWait"] = () => undefined;
  const served = new ServedPeers(
    {
      isReady: () => true,
      heed: (given) => (callersWait = given),
      connect: () => ({
        changes: (method) => method !== "read",
        handle: (method, _args, { signal }) => {
          begun.push(method);
          if (method !== "hold") return Promise.resolve(method);
          return new Promise((_resolve, reject) => {
            const ended = (): void => {
              begun.push("ended");
              reject(abortError(signal));
            };
            signal.addEventListener("abort", ended, { once: true });
          });
        },
      }),
    },
    () => expect.unreachable(),
  );
  const listener = await PeerListener.open({
    ...{ host: HOST, port: 0, secret: SECRET, onPeer: (channel) => served.serve(channel) },
  });
  onTestFinished(() => listener.close());
  return { address: { host: HOST, port: listener.port }, begun, callersWait: () => callersWait() };
}

async function linkTo({ address }: Served): Promise<PeerPool["open"][number]> {
  const pool = new PeerPool(SECRET);
  onTestFinished(() => pool.close());
  pool.update([address]);
  await expect.poll(() => pool.open.length).toBe(1);
  return pool.open[0]!;
}

interface Frame {
  readonly type: string;
  readonly id?: number;
  readonly report?: unknown;
}

/** A caller that says no more than it is told to, as one of an earlier version. */
async function silentCaller({ address }: Served): Promise<{
  readonly channel: Channel;
  readonly heard: Frame[];
  readonly call: (id: number, method?: string) => void;
}> {
  const channel = await connectToPeer(address, SECRET);
  onTestFinished(() => channel.close());
  const heard: Frame[] = [];
  channel.onMessage((message) => heard.push(message as Frame));
  const call = (id: number, method = "write"): void => channel.send({ type: "call", id, method, args: [] });
  return { channel, heard, call };
}

describe("a peer that has stood still", () => {
  it("does what its caller still waits for", async () => {
    const served = await serve();
    const link = await linkTo(served);
    const answers = ["write", "read"].map((method) => link.call(method, []));
    standStill();
    expect(await Promise.all(answers)).toEqual(["write", "read"]);
    expect(served.begun.toSorted()).toEqual(["read", "write"]);
  });

  it("does not begin what its caller has given up", async () => {
    const served = await serve();
    const link = await linkTo(served);
    const signal = new Cancellation();
    const given = link.call("write", [], { signal });
    standStill();
    signal.abort(new Error("given up"));
    await expect(given).rejects.toThrow("the request was cancelled");
    expect(await link.call("write", [])).toBe("write");
    expect(served.begun).toEqual(["write"]);
  });

  it("does not begin what its caller has sent before it went", async () => {
    const served = await serve();
    const { channel, call } = await silentCaller(served);
    call(1);
    channel.close();
    standStill();
    const link = await linkTo(served);
    expect(await link.call("write", [])).toBe("write");
    expect(served.begun).toEqual(["write"]);
  });

  it("refuses what a caller has sent that gives no sign, and takes what comes after that", async () => {
    const served = await serve();
    const { heard, call } = await silentCaller(served);
    call(1);
    standStill();
    const answers = (): readonly Frame[] => heard.filter(({ type }) => type !== "still");
    await expect.poll(answers).toHaveLength(1);
    expect(answers()[0]).toMatchObject({ type: "error", id: 1, report: { fate: "refused" } });
    expect(served.begun).toEqual([]);
    call(2);
    await expect.poll(answers).toHaveLength(2);
    expect(answers()[1]).toMatchObject({ type: "result", id: 2 });
  });

  it("ends what is under way for a caller that gives no sign, and says that nobody can tell", async () => {
    const served = await serve();
    const { heard, call } = await silentCaller(served);
    call(1, "hold");
    await expect.poll(() => served.begun).toEqual(["hold"]);
    standStill();
    await served.callersWait();
    expect(served.begun).toEqual(["hold", "ended"]);
    const answers = (): readonly Frame[] => heard.filter(({ type }) => type !== "still");
    await expect.poll(answers).toHaveLength(1);
    expect(answers()[0]).toMatchObject({ type: "error", id: 1, report: { fate: "lost" } });
  });

  it("ends it, too, where a later call has asked for the sign", async () => {
    const served = await serve();
    const { call } = await silentCaller(served);
    call(1, "hold");
    await expect.poll(() => served.begun).toEqual(["hold"]);
    standStill();
    call(2);
    await expect.poll(() => served.begun, { timeout: 3_000 }).toEqual(["hold", "ended"]);
    expect(served.callersWait()).toBe(undefined);
  });

  it("knows of what is under way whether it is still waited for, before it goes on with it", async () => {
    const served = await serve();
    const link = await linkTo(served);
    const signal = new Cancellation();
    const held = link.call("hold", [], { signal }).catch(() => null);
    await expect.poll(() => served.begun).toEqual(["hold"]);
    expect(served.callersWait()).toBe(undefined);
    standStill();
    signal.abort(new Error("given up"));
    await served.callersWait();
    expect(served.begun).toEqual(["hold", "ended"]);
    expect(served.callersWait()).toBe(undefined);
    await held;
  });
});

describe("the sign of callers", () => {
  it("counts only where it was given after the newest standstill", async () => {
    const asked: number[] = [];
    const sign = new CallersSign(new StandstillWatch(), (number) => asked.push(number), null);
    expect(sign.wanted).toBe(undefined);
    standStill();
    const { wanted } = sign;
    expect(sign.wanted).toBe(wanted);
    standStill();
    sign.heard(asked[0]!);
    await expect.poll(() => asked).toHaveLength(2);
    expect(asked[1]).toBeGreaterThan(asked[0]!);
    sign.heard(asked[1]!);
    expect(await wanted).toBe(true);
    expect(sign.wanted).toBe(undefined);
  });
});
