/** Making, listing, rotating and removing API keys. The text of a key leaves here once and is never kept. */
import { randomBytes } from "node:crypto";
import type { ListBatch, ListPage } from "@sheaf/engine";
import { type ApiKey, type CreateKey, type RotateKey, SheafError } from "@sheaf/protocol";
import { digest } from "../auth/key-store.ts";
import { makeKey } from "../auth/make-key.ts";
import type { ActivityLedger } from "../auth/activity-ledger.ts";
import type { EngineSource } from "../request/engine-source.ts";

export interface KeyServiceOptions {
  readonly engine: EngineSource;
  readonly ledger: ActivityLedger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long a rotated key goes on where its rotation does not say. */
  readonly overlapSeconds: number;
}

/** A key with its text, for the one who asked for it. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}

const ID = /^key_[0-9a-f]{16}$/;

export class KeyService {
  readonly #options: KeyServiceOptions;

  constructor(options: KeyServiceOptions) {
    this.#options = options;
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#options.now();
  }

  /** 404 for a tenant or database that is not there. */
  async create(request: CreateKey): Promise<IssuedKey> {
    const secret = makeKey();
    const key: ApiKey = { id: newId(), ...request, created: this.now, lastUsed: null, replacedBy: null };
    await this.#options.engine().createKey({ ...key, digest: digestOf(secret) });
    return { key, secret };
  }

  /** Oldest first. */
  async list(page: ListPage): Promise<ListBatch<ApiKey>> {
    const { engine, ledger } = this.#options;
    const { items, next } = await engine().listKeys(page);
    return {
      items: items.map((key) => ({ ...key, lastUsed: ledger.lastUsed(key.id) ?? key.lastUsed })),
      next,
    };
  }

  /** A new key with everything of the old one, which goes on for the overlap. */
  async rotate(id: string, request: RotateKey): Promise<IssuedKey> {
    const { engine, overlapSeconds } = this.#options;
    const secret = makeKey();
    const created = this.now;
    const key = await engine().rotateKey(knownShape(id), {
      id: newId(),
      digest: digestOf(secret),
      created,
      expires: request.expires,
      oldExpires: created + (request.overlapSeconds ?? overlapSeconds) * 1_000,
    });
    return { key, secret };
  }

  /** 404 for a key that is not there. */
  async revoke(id: string): Promise<void> {
    await this.#options.engine().deleteKey(knownShape(id));
  }
}

/** What cannot be the id of a key is not looked up. */
function knownShape(id: string): string {
  // Not shown: it may be a key, given in place of its id.
  if (!ID.test(id))
    throw new SheafError("not_found", "API key not found: an id is `key_` and 16 hexadecimal digits");
  return id;
}

function newId(): string {
  return `key_${randomBytes(8).toString("hex")}`;
}

function digestOf(secret: string): string {
  return digest(secret).toString("hex");
}
