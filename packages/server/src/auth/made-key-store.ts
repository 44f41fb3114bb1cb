/**
 * The keys that were made beside the root key. The engine keeps them; here are those that were used of late, so that most
 * requests cost no call of the engine, and digests that were looked up in vain.
 *
 * What an acknowledged call changes is changed here too, before its caller hears of it, and requests in flight of a key that
 * ends are told. Where other servers change keys, too, no entry is used for longer than a second without a look at the engine,
 * or a report of it that the catalog is what it was. While the engine does not answer at all, or reports that the database is
 * away, keys that were valid stay so for a minute. After a change whose outcome is unknown, because the engine died over it
 * say, none counts until the engine was asked.
 */
import type { CatalogReport, DatabaseRef, Engine, KeyReplacement, StoredKey } from "@sheaf/engine";
import { type KeyLimits, type KeyScope, SheafError } from "@sheaf/protocol";
import type { EngineSource } from "../request/engine-source.ts";
import { type Method, intercept } from "../request/intercept.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import type { ActivityLedger } from "./activity-ledger.ts";
import { BoundedMap } from "./bounded-map.ts";
import { AT_ONCE, type KeyEnd } from "./key-end.ts";
import { type FoundKey, KeyLookups } from "./key-lookups.ts";
import { type KeyStore, ROOT_KEY_ID, hexDigest } from "./key-store.ts";
import { isMadeKey } from "./make-key.ts";
import { ANONYMOUS, type Principal } from "./principal.ts";

export interface MadeKeyStoreOptions {
  readonly engine: EngineSource;
  readonly ledger: ActivityLedger;
  /** Other servers change keys, too; by default they may. */
  readonly isShared?: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Hears of the keys that are gone, or may expire earlier now than before. */
  readonly onEnd: (end: KeyEnd) => void;
  /** Ids of keys that requests in flight were admitted by; by default none. */
  readonly inUse?: () => ReadonlySet<string>;
  /** Milliseconds that only ascend; by default of this process. */
  readonly clock?: () => number;
}

/** Of a key that is stored, whose expiry is known. */
type MadePrincipal = Principal & Pick<StoredKey, "expires">;

interface Known {
  readonly principal: MadePrincipal;
  /** When the engine was asked. */
  readonly at: number;
}

/** Some 600 bytes each. */
const MOST_KNOWN = 100_000;
/** Where other servers change keys: what is kept does not count for long, and is looked through at each change. */
const MOST_SHARED = 10_000;
/** A hundred bytes each. */
const MOST_MISSING = 10_000;
/** From this age on the engine is asked for a key that is used, beside the request that uses it… */
const RENEWED_MS = 500;
/** … and from this one on before it. */
const TRUSTED_MS = 1_000;
/** While the engine cannot be asked. */
const HELD_MS = 60_000;
const MISSING_MS = 1_000;

export class MadeKeyStore implements KeyStore {
  readonly #options: MadeKeyStoreOptions;
  readonly #clock: () => number;
  readonly #lookups: KeyLookups;
  /**
   * By digest in hexadecimal. Whoever measures how long a digest is compared learns of digests, which is nothing to begin
   * with: no text is found that has one.
   */
  readonly #known: BoundedMap<string, Known>;
  /** Digest -> until when it is of no key. */
  readonly #missing = new BoundedMap<string, number>(MOST_MISSING);
  /** What the engine was asked before may be wrong. */
  #doubtedAt = Number.NEGATIVE_INFINITY;
  /** When the catalog was last reported to be another one… */
  #changedAt = Number.NEGATIVE_INFINITY;
  /** … and as of when it was last reported to be the same. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #isAway = false;
  /** What changes of unknown outcome were about. */
  #doubts: KeyEnd[] = [];

  constructor(options: MadeKeyStoreOptions) {
    this.#options = options;
    this.#known = new BoundedMap(options.isShared === false ? MOST_KNOWN : MOST_SHARED);
    this.#clock = options.clock ?? performance.now.bind(performance);
    const onFound = this.#learn.bind(this);
    this.#lookups = new KeyLookups({ engine: options.engine, onFound, clock: this.#clock });
  }

  /** 503 while a key that is not known cannot be looked up. */
  find(token: string): MaybePromise<Principal | null> {
    if (!isMadeKey(token)) return null;
    const digest = hexDigest(token);
    const known = this.#known.get(digest);
    if (known !== undefined && this.#isTrusted(known, this.#isAway ? HELD_MS : TRUSTED_MS)) {
      if (!this.#isAway && !this.#isTrusted(known, RENEWED_MS)) this.#renew(digest);
      return this.#use(known.principal);
    }
    const missing = this.#missing.get(digest);
    if (missing !== undefined && this.#clock() < missing) return null;
    return this.#lookUp(digest, known);
  }

  /** The engine, with its changes of keys made here as well. */
  watch(engine: Engine): Engine {
    const changes: Readonly<Record<string, (method: Method) => Method>> = {
      createKey: (method) => (key) => {
        const made = key as StoredKey;
        return this.#changing(method(key), endOf(made.id), () => this.#put(made));
      },
      rotateKey: (method) => (id, replacement) => {
        const end = { ...endOf(id), at: (replacement as KeyReplacement).oldExpires };
        return this.#changing(method(id, replacement), end, (made) => {
          this.#end(end);
          this.#put(made as StoredKey);
        });
      },
      deleteKey: (method) => (id) => this.#removing(method(id), endOf(id)),
      deleteTenant: (method) => (name) =>
        this.#removing(method(name), { includes: ({ tenant }) => tenant === name, at: AT_ONCE }),
      deleteDatabase: (method) => (ref) => {
        const of = ref as DatabaseRef;
        const includes: KeyEnd["includes"] = ({ tenant, database }) =>
          tenant === of.tenant && database === of.database;
        return this.#removing(method(ref), { includes, at: AT_ONCE });
      },
      reset: (method) => () =>
        this.#removing(method(), {
          includes: ({ id }) => id !== ROOT_KEY_ID && id !== ANONYMOUS.id,
          at: AT_ONCE,
        }),
    };
    return intercept(engine, (name, method) => changes[name]?.(method) ?? method);
  }

  /** Other servers change keys, too: what the engine reports of their catalog. */
  hear({ isChanged, ageMs, isAway }: CatalogReport): void {
    const now = this.#clock();
    this.#isAway = isAway;
    this.#confirmedAt = now - ageMs;
    if (!isChanged) return;
    this.#changedAt = now;
    this.#missing.clear();
    const inUse = this.#options.inUse?.() ?? new Set();
    for (const [digest, { principal }] of this.#known.entries())
      if (inUse.has(principal.id)) this.#renew(digest);
  }

  #isTrusted({ at }: Known, ms: number): boolean {
    if (at <= Math.max(this.#doubtedAt, this.#changedAt)) return false;
    return this.#options.isShared === false || this.#clock() - Math.max(at, this.#confirmedAt) < ms;
  }

  #use(principal: MadePrincipal): Principal | null {
    const { id, expires } = principal;
    if (expires !== null && expires <= this.#options.now()) return null;
    this.#options.ledger.keyUsed(id);
    return principal;
  }

  async #lookUp(digest: string, known: Known | undefined): Promise<Principal | null> {
    try {
      const found = await this.#lookups.find(digest, known !== undefined);
      return found === null ? null : this.#use(toPrincipal(found));
    } catch (error) {
      const isAway = error instanceof SheafError && error.code === "unavailable";
      // It may have ended while the engine was asked.
      const still = this.#known.get(digest);
      if (!isAway || still === undefined || !this.#isTrusted(still, HELD_MS)) throw error;
      return this.#use(still.principal);
    }
  }

  /** Whoever uses it after it is trusted no more hears of what goes wrong. */
  #renew(digest: string): void {
    this.#lookups.find(digest, true).catch(() => undefined);
  }

  /** What the engine says of a digest. */
  #learn(digest: string, key: FoundKey, at: number): void {
    const before = this.#known.get(digest)?.principal;
    if (key === null) {
      this.#known.delete(digest);
      this.#missing.set(digest, at + MISSING_MS);
    } else {
      this.#missing.delete(digest);
      this.#known.set(digest, toKnown(key, at));
    }
    if (before !== undefined) this.#tell(before, key);
    const doubts = this.#doubts.splice(0);
    if (doubts.length === 0) return;
    for (const [other, { principal }] of this.#known.entries())
      if (other !== digest && doubts.some(({ includes }) => includes(principal))) this.#renew(other);
  }

  /** Requests of a key that is not what it was. */
  #tell(before: MadePrincipal, now: FoundKey): void {
    const at = now === null ? AT_ONCE : now.expires;
    if (at !== null && at < (before.expires ?? Infinity)) this.#options.onEnd({ ...endOf(before.id), at });
  }

  async #changing(call: unknown, about: KeyEnd, apply: (result: unknown) => void): Promise<unknown> {
    try {
      const result = await call;
      apply(result);
      return result;
    } catch (error) {
      // What was refused has changed nothing.
      if (!(error instanceof SheafError && error.status < 500)) this.#doubt(about);
      throw error;
    }
  }

  /** What is not there is as gone as what has just been removed. */
  #removing(call: unknown, end: KeyEnd): Promise<unknown> {
    const remove = (): void => this.#end(end);
    const removed = Promise.resolve(call).catch((error: unknown) => {
      if (error instanceof SheafError && error.code === "not_found") remove();
      throw error;
    });
    return this.#changing(removed, end, remove);
  }

  #put(key: StoredKey): void {
    this.#lookups.made(key);
    this.#missing.delete(key.digest);
    this.#known.set(key.digest, toKnown(key, this.#clock()));
  }

  #end(end: KeyEnd): void {
    const { includes, at } = end;
    this.#lookups.ended(end);
    for (const [digest, known] of this.#known.entries()) {
      const { principal } = known;
      if (!includes(principal)) continue;
      // The entry keeps its place, so that what goes through them comes to its end.
      if (at === AT_ONCE) this.#known.delete(digest);
      else if (at < (principal.expires ?? Infinity)) {
        const ending = Object.freeze({ ...principal, expires: at });
        this.#known.replace(digest, { principal: ending, at: known.at });
      }
    }
    this.#options.onEnd(end);
  }

  #doubt(about: KeyEnd): void {
    this.#doubtedAt = this.#clock();
    this.#missing.clear();
    this.#lookups.doubt();
    this.#doubts.push(about);
  }
}

function endOf(id: unknown): KeyEnd {
  return { includes: (key) => key.id === id, at: AT_ONCE };
}

function toKnown(key: StoredKey, at: number): Known {
  return { principal: toPrincipal(key), at };
}

function toPrincipal({ id, tenant, database, scopes, limits, expires }: StoredKey): MadePrincipal {
  const isBound = Object.values(limits).some((limit) => limit !== null);
  return Object.freeze({
    ...{ id, tenant, database, scopes: setOf(scopes), expires },
    limits: isBound ? limits : NO_LIMITS,
  });
}

/** Keys share them: there are few of them. */
const NO_LIMITS: KeyLimits = Object.freeze({
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentRequests: null,
});
const scopeSets = new Map<string, ReadonlySet<KeyScope>>();

function setOf(scopes: readonly KeyScope[]): ReadonlySet<KeyScope> {
  const name = scopes.join();
  const known = scopeSets.get(name) ?? new Set(scopes);
  scopeSets.set(name, known);
  return known;
}
