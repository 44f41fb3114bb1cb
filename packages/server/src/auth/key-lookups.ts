/**
 * Asks the engine for keys by digest: many in one call and one call at a time, however many requests come with keys that
 * nobody has made. A digest that several requests ask for is asked for once. Keys that were valid a moment ago come first,
 * so that whoever sends invalid ones holds up nobody else; beyond a bound these are refused with 503.
 */
import type { StoredKey } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import type { EngineSource } from "../request/engine-source.ts";
import { AT_ONCE, type KeyEnd } from "./key-end.ts";

/** Some milliseconds of the engine. */
const MOST_IN_A_CALL = 256;
/** A tenth of a second of the engine. */
const MOST_WAITING = 4_096;
/** Of a call, after which whoever waits for it is told to come back; the engine may be busy for so long with one thing. */
const CALL_MS = 10_000;

/** `null`: no such key, or none any more. */
export type FoundKey = StoredKey | null;

interface Lookup {
  readonly digest: string;
  readonly promise: Promise<FoundKey>;
  readonly resolve: (key: FoundKey) => void;
  readonly reject: (error: unknown) => void;
}

/** What has changed since the engine was asked; its answer may be of before. */
interface Changes {
  readonly made: Map<string, StoredKey>;
  readonly ends: KeyEnd[];
  /** Nobody can tell what has changed. */
  isUnknown: boolean;
}

export interface KeyLookupsOptions {
  readonly engine: EngineSource;
  /** Told of each answer, before whoever waits for it, and when the engine was asked. */
  readonly onFound: (digest: string, key: FoundKey, at: number) => void;
  /** Milliseconds that only ascend. */
  readonly clock: () => number;
}

export class KeyLookups {
  readonly #options: KeyLookupsOptions;
  readonly #lookups = new Map<string, Lookup>();
  /** Digests that wait for a call. */
  readonly #known = new Set<string>();
  readonly #unknown = new Set<string>();
  #changes: Changes | null = null;

  constructor(options: KeyLookupsOptions) {
    this.#options = options;
  }

  /** Rejects with 503 where the engine cannot be asked, or too many ask. `isKnown`: it was the digest of a key. */
  find(digest: string, isKnown: boolean): Promise<FoundKey> {
    const pending = this.#lookups.get(digest);
    if (pending !== undefined) return pending.promise;
    if (!isKnown && this.#unknown.size >= MOST_WAITING) return Promise.reject(tooMany());
    const lookup = newLookup(digest);
    this.#lookups.set(digest, lookup);
    (isKnown ? this.#known : this.#unknown).add(digest);
    if (this.#changes === null) void this.#run();
    return lookup.promise;
  }

  /** The engine has made this key. */
  made(key: StoredKey): void {
    this.#changes?.made.set(key.digest, key);
  }

  /** The engine has ended these. */
  ended(end: KeyEnd): void {
    this.#changes?.ends.push(end);
  }

  /** The engine may have changed anything. */
  doubt(): void {
    if (this.#changes !== null) this.#changes.isUnknown = true;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (this.#lookups.size > 0) {
      const changes: Changes = { made: new Map(), ends: [], isUnknown: false };
      this.#changes = changes;
      // What comes in one turn is asked for together.
      await Promise.resolve();
      const digests = [...this.#known, ...this.#unknown].slice(0, MOST_IN_A_CALL);
      for (const digest of digests) {
        this.#known.delete(digest);
        this.#unknown.delete(digest);
      }
      const at = this.#options.clock();
      try {
        const keys = await inTime(this.#options.engine().findKeys(digests));
        for (const [i, digest] of digests.entries()) {
          if (changes.isUnknown) this.#known.add(digest);
          else this.#settle(digest, withChanges(digest, keys[i] ?? null, changes), at);
        }
      } catch (error) {
        for (const digest of digests) this.#take(digest)?.reject(error);
      }
    }
    this.#changes = null;
  }

  #settle(digest: string, key: FoundKey, at: number): void {
    this.#options.onFound(digest, key, at);
    this.#take(digest)?.resolve(key);
  }

  #take(digest: string): Lookup | undefined {
    const lookup = this.#lookups.get(digest);
    this.#lookups.delete(digest);
    return lookup;
  }
}

function newLookup(digest: string): Lookup {
  let [resolve, reject]: [Lookup["resolve"], Lookup["reject"]] = [() => {}, () => {}];
  const promise = new Promise<FoundKey>((...settle) => ([resolve, reject] = settle));
  // Nobody may be waiting any more.
  promise.catch(() => {});
  return { digest, promise, resolve, reject };
}

function withChanges(digest: string, found: FoundKey, { made, ends }: Changes): FoundKey {
  let key = found ?? made.get(digest) ?? null;
  for (const { includes, at } of ends) {
    if (key === null || !includes(key)) continue;
    key = at === AT_ONCE ? null : { ...key, expires: Math.min(key.expires ?? Infinity, at) };
  }
  return key;
}

async function inTime<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(notNow("the engine is busy; try again")), CALL_MS).unref();
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooMany(): SheafError {
  return notNow("too many API keys are being looked up; try again");
}

function notNow(message: string): SheafError {
  return new SheafError("unavailable", message, { retryAfterSeconds: 1 });
}
