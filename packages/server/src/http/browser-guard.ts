/**
 * Keeps web pages away from a server without keys. Whatever a person's browser shows can send requests to the loopback
 * address; without a key to know, only what browsers say of a request tells a program of the machine from a page:
 *
 * - `Host` is a name of this server. A page whose own name was made to resolve to the loopback address (DNS rebinding)
 *   sends that name.
 * - `Origin` is the server's own, or one that the operator listed.
 * - `Sec-Fetch-Site` says that the request comes from the server's own pages or from no page, except where a person
 *   follows a link to a page of the server.
 *
 * Programs that are no browsers send neither of the last two.
 */
import type { IncomingMessage } from "node:http";
import { isLoopback } from "../is-loopback.ts";
import { countHosts, hostName } from "./host-name.ts";
import { plainAddress } from "./client-address.ts";

export interface BrowserGuardOptions {
  /** As `hostName` gives them; names of the loopback address need not be among them. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** What `Host` must be, in words. */
  readonly hostRule?: string;
}

/** Pages that links of other sites may lead to. */
const PAGES: ReadonlySet<string> = new Set(["/", "/console", "/console/", "/docs", "/docs/"]);
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;
const KNOWN_HOSTS = 64;
const SLASH = 0x2f;

export class BrowserGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #hostRule: string;
  /** Texts of `Host` that were found good. */
  readonly #known = new Set<string>();

  constructor({ allowedHosts, allowedOrigins, hostRule = HOST_RULE }: BrowserGuardOptions) {
    this.#hosts = new Set(allowedHosts);
    this.#origins = new Set(allowedOrigins);
    this.#hostRule = hostRule;
  }

  /** Why the request is refused; `null`: it may go on. */
  refusal(request: IncomingMessage): string | null {
    const { host, origin, "sec-fetch-site": site } = request.headers;
    if (host === undefined || !this.#isOurs(host, request)) return `Host: ${this.#hostRule}`;
    if (countHosts(request.rawHeaders) > 1) return "Host: must be given once";
    if (!this.#isTargetOurs(request)) return `request target: ${this.#hostRule}`;
    if (origin !== undefined) {
      if (this.#origins.has(origin)) return null;
      if (!isOrigin(origin, host)) return `Origin: ${ORIGIN_RULE}`;
    }
    const isForeign = site !== undefined && site !== "same-origin" && site !== "none";
    return isForeign && !isPageVisit(request) ? `Sec-Fetch-Site: ${SITE_RULE}` : null;
  }

  #isOurs(host: string, request: IncomingMessage): boolean {
    if (this.#known.has(host)) return true;
    const name = hostName(host);
    if (name === null) return false;
    // An address is no name that could be made to resolve to another.
    const isOurs =
      isLoopback(name) || this.#hosts.has(name) || name === plainAddress(request.socket.localAddress);
    if (isOurs && this.#known.size < KNOWN_HOSTS) this.#known.add(host);
    return isOurs;
  }

  /** The target counts for more than `Host` where it names a host itself (RFC 9112, 3.2.2). */
  #isTargetOurs(request: IncomingMessage): boolean {
    const { url = "" } = request;
    if (url.charCodeAt(0) === SLASH || url === "*") return true;
    const host = ABSOLUTE_FORM.exec(url)?.[1];
    return host !== undefined && this.#isOurs(host, request);
  }
}

const HOST_RULE = "with --auth off it must be a loopback name or one of --allowed-hosts";
const ORIGIN_RULE = "with --auth off it must be the server's own origin or one of --cors-allow-origins";
const SITE_RULE = "with --auth off pages of other sites are refused";

function isOrigin(origin: string, host: string): boolean {
  const authority = host.toLowerCase();
  return origin === `http://${authority}` || origin === `https://${authority}`;
}

function isPageVisit({ method, url = "", headers }: IncomingMessage): boolean {
  const [path = ""] = url.split("?", 1);
  return (
    method === "GET" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document" &&
    PAGES.has(path)
  );
}
