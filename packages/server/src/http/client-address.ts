/**
 * Whose request it is: the address of the socket, or the one that a trusted proxy forwards. What anybody else writes
 * into `X-Forwarded-For` counts for nothing.
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

const MAPPED_IPV4 = "::ffff:";
/** Groups of 16 bits that one network of a client has. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** Addresses whose answers are remembered; to look for one among networks takes microseconds. */
const MOST_KNOWN = 4_096;

/** Networks of the operator's proxies. */
export class TrustedProxies {
  readonly #networks = new BlockList();
  readonly #known = new Map<string, boolean>();
  readonly #isEmpty: boolean;

  /** @param networks Addresses, with `/prefix` or without. */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const network of networks) {
      const [address = "", prefix] = network.split("/");
      if (prefix === undefined) this.#networks.addAddress(address, family(address));
      else this.#networks.addSubnet(address, Number(prefix), family(address));
    }
  }

  /** @param address As `plainAddress` gives it. */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const isTrusted = isIP(address) !== 0 && this.#networks.check(address, family(address));
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(address, isTrusted);
    return isTrusted;
  }
}

/**
 * The address of the client: from the right of `X-Forwarded-For`, the first that is no trusted proxy's. An entry that
 * is no address ends the walk.
 */
export function clientAddress(request: IncomingMessage, trusted: TrustedProxies): string {
  let client = plainAddress(request.socket.remoteAddress);
  if (!trusted.has(client)) return client;
  const forwarded = request.headers["x-forwarded-for"];
  if (typeof forwarded !== "string") return client;
  for (let end = forwarded.length; end >= 0 && trusted.has(client);) {
    const comma = forwarded.lastIndexOf(",", end - 1);
    const entry = plainAddress(withoutPort(forwarded.slice(comma + 1, end).trim()));
    if (isIP(entry) === 0) break;
    client = entry;
    end = comma;
  }
  return client;
}

/** Without the notation of an IPv4 address as IPv6; empty where the socket has closed. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return "";
  return address.startsWith(MAPPED_IPV4) && address.includes(".")
    ? address.slice(MAPPED_IPV4.length)
    : address;
}

/** What one client is counted by: an IPv4 address, or the first 64 bits of an IPv6 address, which are one customer's. */
export function addressGroup(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : GROUPS - front.length - back.length;
  return [...front, ...Array.from({ length: Math.max(0, zeros) }, () => "0"), ...back]
    .slice(0, NETWORK_GROUPS)
    .join(":");
}

/** Some proxies write `address:port`. */
function withoutPort(entry: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
