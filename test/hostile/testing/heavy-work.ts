/**
 * Legal work of one tenant that keeps a server busy: bulk writes, large reads, filters by regular expression, searches,
 * and the embedding of many and of long texts. Each piece is one call that a careful client might send; many of them
 * are under way at a time. Refusals with 429 and 503 are legal answers, anything else but success is not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MINILM } from "./bystander.ts";
import type { SendOptions, Tenant } from "./tenant.ts";

const WORDS = "river engine harbour fast slow winter stone bread light paper signal garden".split(" ");
const DIMENSIONS = 384;
const LARGE_RECORDS = 50;
const LARGE_DOCUMENT = 1024 * 1024;
const SHORT_RECORDS = 10_000;
const RECORDS_PER_CALL = 1_000;

export interface HeavyWork {
  /** Makes what `once` needs. */
  prepare(): Promise<void>;
  /** Calls that are under way at a time. */
  readonly callers: number;
  /** One call, whose answer is read whole; the status. */
  once(call: number, signal: AbortSignal): Promise<number>;
}

/** By name. */
const WORKS: Readonly<Record<string, (tenant: Tenant) => HeavyWork>> = {
  "bulk writes": bulkWrites,
  "50 MB reads": largeReads,
  "regular expressions": patterns,
  searches,
  "large embeds": largeEmbeds,
  "many small embeds": smallEmbeds,
};
export const WORK_NAMES: readonly string[] = Object.keys(WORKS);

/** Heavy work in the name of a tenant. */
export function heavyWork(name: string, tenant: Tenant): HeavyWork {
  const make = WORKS[name];
  if (make === undefined) throw new Error(`no work is called ${name}`);
  return make(tenant);
}

export interface CallCounts {
  readonly answered: number;
  readonly refused: number;
}

/**
 * Keeps all callers of a work busy for so many seconds, or until the first call is answered where that is later, and
 * cuts the calls that are then under way.
 */
export async function keepBusy(work: HeavyWork, seconds: number): Promise<CallCounts> {
  const counts = { answered: 0, refused: 0 };
  const end = new AbortController();
  const until = performance.now() + seconds * 1_000;
  const endWhenDone = (): void => {
    if (counts.answered > 0 && performance.now() >= until) end.abort();
  };
  const timer = setTimeout(endWhenDone, seconds * 1_000 + 1);
  let call = 0;
  const callers = Array.from({ length: work.callers }, async () => {
    while (!end.signal.aborted) {
      const outcome = await work.once(call++, end.signal).catch((error: unknown) => {
        if (end.signal.aborted) return null;
        throw error;
      });
      if (outcome === null) return;
      if (outcome === 200 || outcome === 201) counts.answered++;
      else if (outcome === 429 || outcome === 503) counts.refused++;
      else throw new Error(`a legal call was answered with ${outcome}`);
      endWhenDone();
      // A refused client comes back later, not at once.
      if (outcome === 429 || outcome === 503) await sleep(50);
    }
  });
  await Promise.all(callers);
  clearTimeout(timer);
  return counts;
}

function bulkWrites(tenant: Tenant): HeavyWork {
  let path = "";
  let bodies: readonly string[] = [];
  return {
    callers: 4,
    prepare: async () => {
      path = await tenant.createCollection("bulk");
      bodies = Array.from({ length: 20 }, (_, i) => JSON.stringify(shortRecords(i * RECORDS_PER_CALL)));
    },
    once: (call, signal) => status(tenant, `${path}/upsert`, bodies[call % bodies.length], { signal }),
  };
}

function largeReads(tenant: Tenant): HeavyWork {
  let path = "";
  return {
    callers: 2,
    prepare: async () => {
      path = await tenant.createCollection("large");
      const document = textOf(7, LARGE_DOCUMENT);
      for (let first = 0; first < LARGE_RECORDS; first += 10) {
        const ids = Array.from({ length: 10 }, (_, i) => `r${first + i}`);
        const body = { ids, embeddings: ids.map((_, i) => [i]), documents: ids.map(() => document) };
        await tenant.expect(201, `${path}/add`, body);
      }
    },
    once: (_call, signal) => status(tenant, `${path}/get`, { include: ["documents"] }, { signal }),
  };
}

function patterns(tenant: Tenant): HeavyWork {
  let path = "";
  return {
    callers: 4,
    prepare: async () => {
      path = await shortCollection(tenant);
    },
    once: (call, signal) => {
      const $regex = `(?i)fast [a-z]+ ${call % 10}[0-9]*7 (river|engine)`;
      return status(tenant, `${path}/get`, { where_document: { $regex }, include: [] }, { signal });
    },
  };
}

function searches(tenant: Tenant): HeavyWork {
  let path = "";
  return {
    callers: 16,
    prepare: async () => {
      path = await shortCollection(tenant);
    },
    once: (call, signal) => {
      const rank = { $knn: { query: vectorOf(call), limit: 100 } };
      return status(tenant, `${path}/search`, { searches: [{ rank, limit: { limit: 100 } }] }, { signal });
    },
  };
}

function largeEmbeds(tenant: Tenant): HeavyWork {
  const textsOf = (call: number): string[] =>
    Array.from({ length: 64 }, (_, i) => textOf(call * 64 + i, 900));
  return {
    callers: 8,
    prepare: () => Promise.resolve(),
    once: (call, signal) => embed(tenant, textsOf(call), signal),
  };
}

function smallEmbeds(tenant: Tenant): HeavyWork {
  return {
    callers: 200,
    prepare: () => Promise.resolve(),
    once: (call, signal) => embed(tenant, [textOf(call, 900)], signal),
  };
}

function embed(tenant: Tenant, texts: readonly string[], signal: AbortSignal): Promise<number> {
  const headers = { "x-service-embedding-model": MINILM };
  return status(tenant, "/embed", { texts, instructions: "" }, { headers, signal });
}

/** One for all works that only read it. */
async function shortCollection(tenant: Tenant): Promise<string> {
  const path = await tenant.createCollection("short", { get_or_create: true });
  if ((await tenant.expect(200, `${path}/count`)) === SHORT_RECORDS) return path;
  for (let first = 0; first < SHORT_RECORDS; first += RECORDS_PER_CALL) {
    await tenant.expect(201, `${path}/add`, shortRecords(first));
  }
  return path;
}

function shortRecords(first: number): object {
  const numbers = Array.from({ length: RECORDS_PER_CALL }, (_, i) => first + i);
  return {
    ids: numbers.map((i) => `r${i}`),
    embeddings: numbers.map(vectorOf),
    documents: numbers.map((i) => textOf(i, 200)),
    metadatas: numbers.map((i) => ({ number: i, word: WORDS[i % WORDS.length] })),
  };
}

async function status(tenant: Tenant, path: string, body: unknown, options: SendOptions): Promise<number> {
  const reply = await tenant.send(path, body, options);
  await reply.arrayBuffer();
  return reply.status;
}

function textOf(seed: number, length: number): string {
  const words: string[] = [];
  let state = seed + 1;
  for (let written = 0; written < length; written += words.at(-1)!.length + 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words.push(state % 5 === 0 ? String(state % 1_000) : WORDS[(state >>> 8) % WORDS.length]!);
  }
  return words.join(" ").slice(0, length);
}

function vectorOf(i: number): number[] {
  return Array.from({ length: DIMENSIONS }, (_, d) => Math.sin((i + 1) * (d + 1) * 0.37));
}
