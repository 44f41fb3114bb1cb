import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { TrustedProxies, addressGroup, clientAddress, plainAddress } from "./client-address.ts";

const TRUSTED = new TrustedProxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"]);

function address(remoteAddress: string, forwarded?: string, trusted = TRUSTED): string {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return clientAddress({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted);
}

describe("clientAddress", () => {
  it("is the socket's, whatever a stranger forwards", () => {
    expect(address("203.0.113.9", "1.2.3.4")).toBe("203.0.113.9");
    expect(address("127.0.0.1", "1.2.3.4", new TrustedProxies([]))).toBe("127.0.0.1");
    expect(address("::ffff:203.0.113.9")).toBe("203.0.113.9");
  });

  it.each([
    [undefined, "127.0.0.1"],
    ["1.2.3.4", "1.2.3.4"],
    ["6.6.6.6, 1.2.3.4", "1.2.3.4"],
    ["6.6.6.6, 1.2.3.4, 10.1.1.1,10.2.2.2", "1.2.3.4"],
    ["10.1.1.1, 10.2.2.2", "10.1.1.1"],
    ["1.2.3.4:5678", "1.2.3.4"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["fd00::1, 2001:db8::1, fd00::2", "2001:db8::1"],
    ["1.2.3.4, unknown", "127.0.0.1"],
    ["1.2.3.4, unknown, 10.1.1.1", "10.1.1.1"],
    ["", "127.0.0.1"],
    [",,,", "127.0.0.1"],
    ['"><script>', "127.0.0.1"],
  ])("behind a trusted proxy that forwards %s is %s", (forwarded, expected) => {
    expect(address("127.0.0.1", forwarded)).toBe(expected);
  });

  it("knows a proxy whose IPv4 address comes as IPv6", () => {
    expect(address("::ffff:10.1.1.1", "1.2.3.4")).toBe("1.2.3.4");
  });

  it("is found behind many proxies", () => {
    expect(address("127.0.0.1", "10.0.0.1,".repeat(1_700) + "10.0.0.2")).toBe("10.0.0.1");
  });
});

describe("addressGroup", () => {
  it.each([
    ["1.2.3.4", "1.2.3.4"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::9", "2001:db8:1:2"],
    ["2001:db8::9", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ])("of %s is %s", (one, group) => {
    expect(addressGroup(one)).toBe(group);
  });

  it("leaves IPv4 addresses apart that come as IPv6", () => {
    expect(addressGroup(plainAddress("::ffff:1.2.3.4"))).toBe("1.2.3.4");
  });
});
