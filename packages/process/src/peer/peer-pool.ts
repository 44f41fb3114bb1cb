/** The peers that are known, each with a link, and which of them can be called. */
import type { ClusterSecret } from "./cluster-secret.ts";
import { PeerLink, type PeerLinkHooks } from "./peer-link.ts";
import { type PeerAddress, type PeerLimits, peerName } from "./peer-sockets.ts";
import { rankByKey } from "./rendezvous.ts";

export class PeerPool {
  readonly #secret: ClusterSecret;
  readonly #hooks: PeerLinkHooks;
  readonly #limits: Partial<PeerLimits>;
  readonly #links = new Map<string, PeerLink>();
  /** Of those that are gone, which may still answer what was begun there. */
  readonly #retired = new Set<PeerLink>();

  constructor(secret: ClusterSecret, hooks: PeerLinkHooks = {}, limits: Partial<PeerLimits> = {}) {
    this.#secret = secret;
    this.#hooks = hooks;
    this.#limits = limits;
  }

  /** Begins to connect to those that are new, and leaves those that are gone. */
  update(addresses: readonly PeerAddress[]): void {
    const wanted = new Map(addresses.map((address) => [peerName(address), address]));
    for (const [name, link] of this.#links) {
      if (wanted.has(name)) continue;
      this.#links.delete(name);
      this.#retired.add(link);
      void link.retire().finally(() => this.#retired.delete(link));
    }
    for (const [name, address] of wanted) {
      if (!this.#links.has(name))
        this.#links.set(name, new PeerLink(address, this.#secret, this.#hooks, this.#limits));
    }
  }

  get open(): readonly PeerLink[] {
    return [...this.#links.values()].filter(({ isOpen }) => isOpen);
  }

  /** Those that can be called, the one that the key belongs to first. */
  ranked(key: string): readonly PeerLink[] {
    return rankByKey(this.open, key);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values(), ...this.#retired].map((link) => link.close()));
    this.#links.clear();
  }
}
