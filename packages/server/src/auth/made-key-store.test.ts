/** Over a real engine, whose calls are counted, held up and made to fail. */
import type { Engine, StoredKey } from "@sheaf/engine";
import { createLocalEngine } from "@sheaf/engine/local";
import { SheafError } from "@sheaf/protocol";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { intercept } from "../request/intercept.ts";
import { ActivityLedger } from "./activity-ledger.ts";
import type { KeyEnd } from "./key-end.ts";
import { hexDigest } from "./key-store.ts";
import { MadeKeyStore, type MadeKeyStoreOptions } from "./made-key-store.ts";
import { makeKey } from "./make-key.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

let folder: string;
/** As another server has it: nobody here hears of its changes. */
let elsewhere: Engine;
let engine: Engine;
let keys: MadeKeyStore;
let options: MadeKeyStoreOptions;
let clock: number;
let asked: (readonly string[])[];
let isDown: boolean;
let gate: Promise<void>;
let told: KeyEnd[];
let inUse: Set<string>;
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-made-keys-"));
  elsewhere = await createLocalEngine({ dataFolder: folder });
});
afterAll(async () => {
  await elsewhere.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  [clock, asked, isDown, gate, told] = [10_000, [], false, Promise.resolve(), []];
  inUse = new Set();
  const seen = intercept(elsewhere, (name, method) => async (...args) => {
    if (isDown) throw new SheafError("unavailable", "the engine is down");
    if (name !== "findKeys") return method(...args);
    asked.push(args[0] as readonly string[]);
    const found = await method(...args);
    await gate;
    return found;
  });
  const now = (): number => NOW;
  const ledger = new ActivityLedger({ engine: null, now, onProblem: () => {} });
  const onEnd = (end: KeyEnd): void => void told.push(end);
  options = { engine: () => seen, ledger, now, onEnd, inUse: () => inUse, clock: () => clock };
  keys = new MadeKeyStore(options);
  engine = keys.watch(seen);
});

function newKey(fields: Partial<StoredKey> = {}): { readonly token: string; readonly key: StoredKey } {
  const token = makeKey();
  const key: StoredKey = {
    ...{ id: `key_${made++}`, digest: hexDigest(token), name: "k", tenant: null, database: null },
    ...{ scopes: ["read"], created: NOW, expires: null, lastUsed: null, replacedBy: null },
    limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null },
    ...fields,
  };
  return { token, key };
}

async function elsewhereKey(fields: Partial<StoredKey> = {}): Promise<{ token: string; key: StoredKey }> {
  const one = newKey(fields);
  await elsewhere.createKey(one.key);
  return one;
}

const idOf = async (token: string): Promise<string | undefined> => (await keys.find(token))?.id;

describe("made keys", () => {
  it("are looked up once, and again after a while, beside those that use them", async () => {
    const { token, key } = await elsewhereKey();
    expect([await idOf(token), await idOf(token)]).toEqual([key.id, key.id]);
    expect(asked).toHaveLength(1);
    clock += 600;
    expect(keys.find(token), "no wait").toMatchObject({ id: key.id });
    await Promise.resolve();
    expect(asked).toHaveLength(2);
    clock += 1_100;
    expect(keys.find(token), "not trusted any more").toBeInstanceOf(Promise);
  });

  it("are known at once where they are made here, and gone at once where they are removed here", async () => {
    const { token, key } = newKey();
    expect(await idOf(token)).toBeUndefined();
    await engine.createKey(key);
    expect(keys.find(token)).toMatchObject({ id: key.id });
    await engine.deleteKey(key.id);
    expect(await idOf(token)).toBeUndefined();
    expect(told.some(({ includes }) => includes(key))).toBe(true);
  });

  it("that another server removes or rotates are seen within a second, and told to requests in flight", async () => {
    const [removed, rotated] = [await elsewhereKey(), await elsewhereKey()];
    await Promise.all([idOf(removed.token), idOf(rotated.token)]);
    await elsewhere.deleteKey(removed.key.id);
    const { key } = newKey();
    await elsewhere.rotateKey(rotated.key.id, {
      ...{ id: key.id, digest: key.digest, created: NOW, expires: undefined, oldExpires: NOW + 5 },
    });
    clock += 1_000;
    expect([await idOf(removed.token), await idOf(rotated.token)]).toEqual([undefined, rotated.key.id]);
    expect(told.map(({ at }) => at).toSorted((a, b) => a - b)).toEqual([-Infinity, NOW + 5]);
  });

  it("are not looked up again while the catalog is reported to be the same, and at once when it is not", async () => {
    const report = { isChanged: false, ageMs: 5, isAway: false };
    const [kept, removed] = [await elsewhereKey(), await elsewhereKey()];
    await Promise.all([idOf(kept.token), idOf(removed.token)]);
    const lookups = asked.length;
    for (let i = 0; i < 20; i++) {
      clock += 300;
      keys.hear(report);
      expect(keys.find(kept.token), "no wait").toMatchObject({ id: kept.key.id });
    }
    expect(asked).toHaveLength(lookups);
    await elsewhere.deleteKey(removed.key.id);
    inUse.add(removed.key.id);
    clock += 300;
    keys.hear({ ...report, isChanged: true });
    await expect.poll(() => told.some(({ includes }) => includes(removed.key))).toBe(true);
    expect([await idOf(kept.token), await idOf(removed.token)]).toEqual([kept.key.id, undefined]);
    clock += 1_100;
    expect(keys.find(kept.token), "no report any more").toBeInstanceOf(Promise);
  });

  it("are looked up once where no other server changes them, and again after a change of unknown outcome", async () => {
    keys = new MadeKeyStore({ ...options, isShared: false });
    engine = keys.watch(options.engine());
    const [kept, removed] = [await elsewhereKey(), await elsewhereKey()];
    await Promise.all([idOf(kept.token), idOf(removed.token)]);
    clock += 3_600_000;
    expect(keys.find(kept.token), "no wait").toMatchObject({ id: kept.key.id });
    await engine.deleteKey(removed.key.id);
    expect(await idOf(removed.token)).toBeUndefined();
    expect(asked.flat().filter((digest) => digest === kept.key.digest)).toHaveLength(1);
    isDown = true;
    await expect(engine.deleteKey(kept.key.id)).rejects.toMatchObject({ code: "unavailable" });
    isDown = false;
    await elsewhere.deleteKey(kept.key.id);
    clock += 1;
    expect(await idOf(kept.token)).toBeUndefined();
  });

  it("hold for a minute without being looked up while the database is reported to be away", async () => {
    const { token, key } = await elsewhereKey();
    await idOf(token);
    const lookups = asked.length;
    isDown = true;
    for (let ageMs = 0; ageMs < 60_000; ageMs += 6_000) {
      keys.hear({ isChanged: false, ageMs, isAway: true });
      expect(keys.find(token), "no wait").toMatchObject({ id: key.id });
      clock += 6_000;
    }
    expect(asked).toHaveLength(lookups);
    await expect(idOf(token)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("go with their tenant, their database and a reset", async () => {
    await elsewhere.createTenant("acme");
    await elsewhere.createDatabase({ tenant: "acme", database: "notes" });
    const [ofTenant, ofDatabase, ofAll] = [
      await elsewhereKey({ tenant: "acme" }),
      await elsewhereKey({ tenant: "acme", database: "notes" }),
      await elsewhereKey(),
    ];
    const left = (): Promise<(string | undefined)[]> =>
      Promise.all([ofTenant, ofDatabase, ofAll].map(({ token }) => idOf(token)));
    await left();
    await engine.deleteDatabase({ tenant: "acme", database: "notes" });
    expect(await left()).toEqual([ofTenant.key.id, undefined, ofAll.key.id]);
    await engine.deleteTenant("acme");
    expect(await left()).toEqual([undefined, undefined, ofAll.key.id]);
    await engine.reset();
    expect(await left()).toEqual([undefined, undefined, undefined]);
  });

  it("that nobody has made are looked up many at a time, once each, and not again for a second", async () => {
    const tokens = Array.from({ length: 1_000 }, makeKey);
    const found = await Promise.all([...tokens, ...tokens].map(async (token) => keys.find(token)));
    expect(found.every((principal) => principal === null)).toBe(true);
    expect(asked.map((digests) => digests.length)).toEqual([256, 256, 256, 232]);
    expect(keys.find(tokens[0]!)).toBeNull();
    clock += 1_001;
    await keys.find(tokens[0]!);
    expect(asked).toHaveLength(5);
  });

  it("that nobody has made are refused beyond a bound, while known ones come first", async () => {
    const { token, key } = await elsewhereKey();
    await idOf(token);
    let open: () => void = () => {};
    gate = new Promise((resolve) => (open = resolve));
    const strangers = Array.from({ length: 6_000 }, () => keys.find(makeKey()) as Promise<unknown>);
    const settled = Promise.allSettled(strangers);
    await Promise.resolve();
    await Promise.resolve();
    clock += 1_500;
    const known = idOf(token);
    open();
    expect(await known).toBe(key.id);
    const refused = (await settled).filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(1_000);
    expect(refused[0]).toMatchObject({ reason: { code: "unavailable", retryAfterSeconds: 1 } });
    // Of the calls after it came, it was in the first.
    expect(asked.findIndex((digests, i) => i > 0 && digests.includes(key.digest))).toBeLessThanOrEqual(2);
  });

  it("that change while they are looked up are what they have become", async () => {
    const [removed, rotated, late] = [await elsewhereKey(), await elsewhereKey(), newKey()];
    let open: () => void = () => {};
    gate = new Promise((resolve) => (open = resolve));
    const found = [removed, rotated, late].map(({ token }) => keys.find(token) as Promise<unknown>);
    while (asked.length === 0) await Promise.resolve();
    await engine.deleteKey(removed.key.id);
    const next = newKey();
    await engine.rotateKey(rotated.key.id, {
      ...{ id: next.key.id, digest: next.key.digest, created: NOW, expires: undefined, oldExpires: NOW },
    });
    await engine.createKey(late.key);
    open();
    expect(await Promise.all(found)).toEqual([null, null, expect.objectContaining({ id: late.key.id })]);
    expect(keys.find(next.token)).toMatchObject({ id: next.key.id });
  });

  it("hold for a minute while the engine is down, and not after a change of unknown outcome", async () => {
    const [one, other] = [await elsewhereKey(), await elsewhereKey()];
    await Promise.all([idOf(one.token), idOf(other.token)]);
    isDown = true;
    clock += 30_000;
    expect(await idOf(one.token)).toBe(one.key.id);
    clock += 31_000;
    await expect(idOf(one.token)).rejects.toMatchObject({ code: "unavailable" });
    isDown = false;
    await Promise.all([idOf(one.token), idOf(other.token)]);
    isDown = true;
    clock += 1;
    await expect(engine.deleteKey(one.key.id)).rejects.toMatchObject({ code: "unavailable" });
    await expect(idOf(one.token)).rejects.toMatchObject({ code: "unavailable" });
    isDown = false;
    // It was done before the engine died, and its requests hear of it from whoever comes first.
    await elsewhere.deleteKey(one.key.id);
    clock += 1;
    expect(await idOf(other.token)).toBe(other.key.id);
    while (told.length === 0) await new Promise(setImmediate);
    expect(told[0]!.includes(one.key)).toBe(true);
  });
});
