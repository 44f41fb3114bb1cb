import { hkdfSync } from "node:crypto";
import { defaultMaxListeners, once } from "node:events";
import { type AddressInfo, type Socket, connect } from "node:net";
import { connect as connectTls, createServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { SheafError } from "@sheaf/protocol";
import { CallBudget } from "./call-budget.ts";
import { ClusterSecret } from "./cluster-secret.ts";
import { HedgeDelay } from "./hedge-delay.ts";
import { type Repeat, callPeers } from "./peer-call.ts";
import { HAS_LEFT, type PeerLink } from "./peer-link.ts";
import { PeerPool } from "./peer-pool.ts";
import { type PeerLimits, PeerListener } from "./peer-sockets.ts";
import { type PeerSession, ServedPeers } from "./serve-peer.ts";

const SECRET = new ClusterSecret("a-secret-of-32-characters-or-more");
const OTHER = new ClusterSecret("another-secret-of-32-or-more-chars");
const HOST = "127.0.0.1";
const OLD_TEXT = "the-secret-that-all-servers-had-before";
const NEW_TEXT = "the-secret-that-all-are-to-have-now";

interface Peer {
  readonly address: { readonly host: string; readonly port: number };
  readonly listener: PeerListener;
  readonly served: ServedPeers;
  readonly refused: string[];
  readonly calls: string[];
  /** Connections that have shown the secret. */
  met: number;
  isReady: boolean;
}

interface PeerPlace {
  readonly port?: number;
  readonly secret?: ClusterSecret;
  readonly cluster?: string;
}

async function peer(
  handle: PeerSession["handle"],
  limits: Partial<PeerLimits> = {},
  { port = 0, secret = SECRET, cluster }: PeerPlace = {},
): Promise<Peer> {
  const refused: string[] = [];
  const calls: string[] = [];
  const session: PeerSession = {
    handle: (method, args, options) => {
      calls.push(method);
      return handle(method, args, options);
    },
  };
  const served = new ServedPeers({ isReady: () => made.isReady, connect: () => session }, () =>
    expect.unreachable(),
  );
  const listener = await PeerListener.open({
    ...{ host: HOST, port, secret, cluster, limits },
    onPeer: (channel) => {
      made.met += 1;
      served.serve(channel);
    },
    onRefused: (reason) => refused.push(reason),
  });
  onTestFinished(() => listener.close());
  const made: Peer = {
    ...{ address: { host: HOST, port: listener.port }, listener, served, refused, calls },
    ...{ met: 0, isReady: true },
  };
  return made;
}

function poolOf(peers: readonly Peer[], secret = SECRET): PeerPool {
  const pool = new PeerPool(secret);
  onTestFinished(() => pool.close());
  pool.update(peers.map(({ address }) => address));
  return pool;
}

async function linksTo(...peers: readonly Peer[]): Promise<readonly PeerLink[]> {
  const pool = poolOf(peers);
  await expect.poll(() => pool.open.length).toBe(peers.length);
  return peers.map(({ address }) => pool.open.find(({ name }) => name.endsWith(`:${address.port}`))!);
}

function call(links: readonly PeerLink[], repeat: Repeat, budget = new CallBudget()): Promise<unknown> {
  const rules = { what: "node", budget, delay: new HedgeDelay() };
  return callPeers(links, { method: "do", args: [], options: {}, repeat }, rules).then(({ value }) => value);
}

const echo: PeerSession["handle"] = (_method, args) => Promise.resolve(args[0] ?? "echo");
const never: PeerSession["handle"] = () => new Promise(() => {});

describe("the port of a peer", () => {
  it("serves who knows the secret, and nobody else", async () => {
    const there = await peer(echo);
    const [link] = await linksTo(there);
    expect(await link!.call("do", [new Float32Array([1, 2])])).toEqual(new Float32Array([1, 2]));
    const strange = poolOf([there], OTHER);
    await expect.poll(() => there.refused.length).toBeGreaterThan(1);
    expect(strange.open).toEqual([]);
    expect(there.refused[0]).toBe("it has another cluster secret, or is no server of Sheaf");
    const plain = connect(there.address);
    const received: Buffer[] = [];
    plain.on("data", (chunk) => received.push(chunk)).on("error", () => {});
    plain.write("GET / HTTP/1.1\r\n\r\n");
    await once(plain, "close");
    // An alert of TLS at most.
    expect(Buffer.concat(received).length).toBeLessThan(16);
    const withoutKey = connectTls({ ...there.address, rejectUnauthorized: false });
    expect(await once(withoutKey, "secureConnect").catch((error: Error) => error.message)).toContain("alert");
    expect(there.calls).toEqual(["do"]);
  });

  it("is reached by nobody who takes its place without the secret", async () => {
    const impostor = await PeerListener.open({
      ...{ host: HOST, port: 0, secret: OTHER, onPeer: () => expect.unreachable() },
    });
    onTestFinished(() => impostor.close());
    const problems: (string | null)[] = [];
    const pool = new PeerPool(SECRET, { onChange: (_link, problem) => problems.push(problem) });
    onTestFinished(() => pool.close());
    pool.update([{ host: HOST, port: impostor.port }]);
    await expect.poll(() => problems.length).toBeGreaterThan(0);
    expect(problems).not.toContain(null);
    expect(problems[0]).toBe("it has another cluster secret, or is no server of Sheaf");
  });

  it("is said to be left where its peer has said so, and not to be lost", async () => {
    const there = await peer(echo);
    const problems: (string | null)[] = [];
    const pool = new PeerPool(SECRET, { onChange: (_link, problem) => problems.push(problem) });
    onTestFinished(() => pool.close());
    pool.update([there.address]);
    await expect.poll(() => pool.open.length).toBe(1);
    await there.served.leave(0);
    await expect.poll(() => pool.open.length).toBe(0);
    await there.listener.close();
    await peer(echo, {}, { port: there.address.port });
    await expect.poll(() => pool.open.length).toBe(1);
    expect(problems).toEqual([null, HAS_LEFT, null]);
  });

  it("takes two secrets, so that one takes the place of the other server by server", async () => {
    const secrets = {
      old: new ClusterSecret(OLD_TEXT),
      both: new ClusterSecret(OLD_TEXT, NEW_TEXT),
      turned: new ClusterSecret(NEW_TEXT, OLD_TEXT),
      new: new ClusterSecret(NEW_TEXT),
    };
    const reached = async (
      listening: ClusterSecret,
      connecting: ClusterSecret,
    ): Promise<readonly string[]> => {
      const there = await peer(echo, {}, { secret: listening });
      const pool = poolOf([there], connecting);
      await expect.poll(() => pool.open.length).toBe(1);
      return there.refused;
    };
    // First servers of the old secret get both, then these get the new one alone.
    for (const both of [secrets.both, secrets.turned])
      for (const one of [secrets.old, both, secrets.new]) {
        expect(await reached(both, one)).toEqual([]);
        expect(await reached(one, both)).toEqual([]);
      }
    const strange = await peer(echo, {}, { secret: secrets.both });
    const pool = poolOf([strange], OTHER);
    await expect.poll(() => strange.refused.length).toBeGreaterThan(1);
    expect(pool.open).toEqual([]);
  });

  it("is left alone by a server of another cluster that has the same secret, which says so once", async () => {
    const there = await peer(echo, {}, { cluster: "theirs" });
    const problems: (string | null)[] = [];
    const pool = new PeerPool(SECRET, { onChange: (_link, problem) => problems.push(problem) });
    onTestFinished(() => pool.close());
    pool.update([{ ...there.address, cluster: "ours" }]);
    await expect.poll(() => there.met).toBeGreaterThan(2);
    expect(problems).toEqual([
      "it is of another database (cluster theirs), and this server is of cluster ours",
    ]);
    expect(pool.open).toEqual([]);
    // Who does not say which one it is of, and who does not know its own, are of earlier versions.
    for (const [cluster, expected] of [
      [undefined, "ours"],
      ["ours", undefined],
      ["ours", "ours"],
    ]) {
      const known = await peer(echo, {}, cluster === undefined ? {} : { cluster });
      const own = new PeerPool(SECRET);
      onTestFinished(() => own.close());
      own.update([{ ...known.address, cluster: expected }]);
      await expect.poll(() => own.open.length).toBe(1);
    }
  });

  it("goes on with servers of an earlier version, which know one secret and no marks", async () => {
    const both = new ClusterSecret(OLD_TEXT, NEW_TEXT);
    const psk = Buffer.from(hkdfSync("sha256", OLD_TEXT, "", "sheaf-cluster-1", 32));
    const there = await peer(echo, {}, { secret: both, cluster: "this-one" });
    const { options } = both.connecting();
    const earlier = connectTls({
      ...{ ...options, ...there.address },
      pskCallback: () => ({ psk, identity: "sheaf-cluster-1" }),
    });
    onTestFinished(() => void earlier.destroy());
    await once(earlier, "secureConnect");
    const server = createServer({
      ...{ ...both.listening(), pskIdentityHint: "" },
      pskCallback: (_socket, identity) => (identity === "sheaf-cluster-1" ? psk : null),
    });
    onTestFinished(() => void server.close());
    await once(server.listen({ host: HOST, port: 0 }), "listening");
    const { port } = server.address() as AddressInfo;
    const connected = once(server, "secureConnection");
    const later = connectTls({ ...options, host: HOST, port });
    onTestFinished(() => void later.destroy());
    await once(later, "secureConnect");
    await connected;
    expect([earlier.encrypted, later.encrypted]).toEqual([true, true]);
  });

  const silent = async ({ address }: Peer, count: number): Promise<() => number> => {
    const sockets: Socket[] = [];
    for (let i = 0; i < count; i++) {
      const socket = connect(address).on("error", () => {});
      onTestFinished(() => void socket.destroy());
      sockets.push(socket.resume());
      await once(socket, "connect");
    }
    return () => sockets.filter(({ closed }) => !closed).length;
  };

  it("bounds how many connections have shown nothing, and lets others in beside them", async () => {
    const there = await peer(echo, { handshakes: 4, handshakeMs: 600_000 });
    const open = await silent(there, 12);
    await expect.poll(open).toBe(4);
    const [link] = await linksTo(there);
    expect(await link!.call("do", [])).toBe("echo");
  });

  it("bounds how long a connection shows nothing", async () => {
    const open = await silent(await peer(echo, { handshakeMs: 300 }), 3);
    await expect.poll(open).toBe(0);
  });

  it("closes a connection whose message is larger than it may be", async () => {
    const there = await peer(echo, { messageBytes: 100_000 });
    const [link] = await linksTo(there);
    expect(await link!.call("do", ["x".repeat(50_000)])).toHaveLength(50_000);
    await expect(link!.call("do", ["x".repeat(200_000)])).rejects.toMatchObject({ fate: "lost" });
  });
});

describe("calls of peers", () => {
  it("go on to the next one where a peer takes none, also those that change something", async () => {
    const [first, second] = [await peer(echo), await peer(echo)];
    const links = await linksTo(first, second);
    first.isReady = false;
    expect(await call(links, "once")).toBe("echo");
    expect([first.calls, second.calls]).toEqual([[], ["do"]]);
    await first.served.leave(0);
    await expect.poll(() => links[0]!.isOpen).toBe(false);
    expect(await call(links, "once")).toBe("echo");
  });

  it("that are on their way to a peer that leaves go to the next one, and none is lost", async () => {
    const [first, second] = [await peer(echo), await peer(echo)];
    const links = await linksTo(first, second);
    const calls = Array.from({ length: 20 }, () => call(links, "once"));
    await first.served.leave(60_000);
    await first.listener.close();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["echo"]));
    expect([first.calls.length, second.calls.length]).toEqual([0, 20]);
  });

  it("that a peer has answered reach their callers before it is gone, however large they are", async () => {
    const large = "x".repeat(20_000_000);
    const there = await peer(() => Promise.resolve(large));
    const answered = call(await linksTo(there), "once");
    await expect.poll(() => there.calls.length).toBe(1);
    await there.served.leave(60_000);
    await there.listener.close();
    expect(await answered).toHaveLength(large.length);
  });

  it("that may have changed something are not sent again, others are", async () => {
    const [first, second] = [await peer(never), await peer(echo)];
    const links = await linksTo(first, second);
    const [changing, reading] = [call(links, "once"), call(links, "again")];
    await expect.poll(() => first.calls.length).toBe(2);
    await first.listener.close();
    await expect(changing).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("cannot be told"),
    });
    expect(await reading).toBe("echo");
    expect(second.calls).toEqual(["do"]);
  });

  it("are sent to a second peer where the first is slow, and the loser is cancelled", async () => {
    let isCancelled = false;
    const slow: PeerSession["handle"] = (_method, _args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener(
          "abort",
          () => {
            isCancelled = true;
            reject(new SheafError("cancelled", "it was"));
          },
          { once: true },
        );
      });
    const links = await linksTo(await peer(slow), await peer(echo));
    expect(await call(links, "hedged")).toBe("echo");
    await expect.poll(() => isCancelled).toBe(true);
  });

  it("are sent again only while the budget lasts", async () => {
    const lost: PeerSession["handle"] = () => Promise.reject(new SheafError("unavailable", "gone"));
    const budget = new CallBudget();
    const rules = { what: "node", budget, delay: new HedgeDelay(), isOfPeer: () => true };
    const second = await peer(lost);
    const links = await linksTo(await peer(lost), second);
    for (let i = 0; i < 200; i++)
      await callPeers(links, { method: "do", args: [], options: {}, repeat: "again" }, rules).catch(() => {});
    expect(second.calls.length).toBeGreaterThanOrEqual(100);
    expect(second.calls.length).toBeLessThanOrEqual(121);
  });

  it("end with an error of the call itself at the first peer", async () => {
    const refuse: PeerSession["handle"] = () => Promise.reject(new SheafError("not_found", "no"));
    const second = await peer(echo);
    const links = await linksTo(await peer(refuse), second);
    await expect(call(links, "again")).rejects.toMatchObject({ code: "not_found", message: "no" });
    expect(second.calls).toEqual([]);
    await expect(call([], "again")).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  });

  it("reach a peer again that has come back at its address", async () => {
    const before = await peer(echo);
    const pool = poolOf([before]);
    await expect.poll(() => pool.open.length).toBe(1);
    await before.listener.close();
    await expect.poll(() => pool.open.length).toBe(0);
    await peer(echo, {}, { port: before.address.port });
    await expect.poll(() => pool.open.length).toBe(1);
    pool.update([]);
    expect(pool.open).toEqual([]);
  });

  it("leave nothing behind of a peer that comes and goes", async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error): number => warnings.push(name);
    process.on("warning", warn);
    onTestFinished(() => void process.off("warning", warn));
    const first = await peer(echo);
    const pool = poolOf([first]);
    for (let [there, times] = [first, 0]; times <= defaultMaxListeners; times++) {
      await expect.poll(() => pool.open.length).toBe(1);
      await there.listener.close();
      await expect.poll(() => pool.open.length).toBe(0);
      there = await peer(echo, {}, { port: first.address.port });
    }
    expect(warnings).toEqual([]);
  });
});
