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
const SHORT_RECORDS = 20_000;
const RECORDS_PER_CALL = 1_000;

export interface HeavyWork {
  readonly name: string;
  /** Makes what `once` needs. */
  prepare(): Promise<void>;
  /** Calls that are under way at a time. */
  readonly callers: number;
  /** One call, whose answer is read whole; the status. */
  once(call: number, signal: AbortSignal): Promise<number>;
}

/** Every kind of heavy work, in the name of one tenant. */
export function heavyWorks(tenant: Tenant): readonly HeavyWork[] {
  return [bulkWrites(tenant), largeReads(tenant), patterns(tenant), searches(tenant), ...embeds(tenant)];
}

export interface CallCounts {
  readonly answered: number;
  readonly refused: number;
}

/** Keeps all callers of a work busy until the signal, which ends the calls that are under way. */
export async function keepBusy(work: HeavyWork, signal: AbortSignal): Promise<CallCounts> {
  const counts = { answered: 0, refused: 0 };
  let call = 0;
  const callers = Array.from({ length: work.callers }, async () => {
    while (!signal.aborted) {
      const status = await work.once(call++, signal).catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
      if (status === null) return;
      if (status === 200 || status === 201) counts.answered++;
      else if (status === 429 || status === 503) counts.refused++;
      else throw new Error(`${work.name}: ${status}`);
      // A refused client comes back later, not at once.
      if (status === 429 || status === 503) await sleep(50);
    }
  });
  await Promise.all(callers);
  return counts;
}

function bulkWrites(tenant: Tenant): HeavyWork {
  let path = "";
  let bodies: readonly string[] = [];
  return {
    name: "bulk writes",
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
    name: "50 MB reads",
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
    name: "regular expressions",
    callers: 4,
    prepare: async () => {
      path = await shortCollection(tenant, "patterns");
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
    name: "searches",
    callers: 16,
    prepare: async () => {
      path = await shortCollection(tenant, "searched");
    },
    once: (call, signal) => {
      const rank = { $knn: { query: vectorOf(call), limit: 100 } };
      return status(tenant, `${path}/search`, { searches: [{ rank, limit: { limit: 100 } }] }, { signal });
    },
  };
}

function embeds(tenant: Tenant): readonly HeavyWork[] {
  const headers = { "x-service-embedding-model": MINILM };
  const embed = (texts: readonly string[], signal: AbortSignal): Promise<number> =>
    status(tenant, "/embed", { texts, instructions: "" }, { headers, signal });
  return [
    {
      name: "large embeds",
      callers: 8,
      prepare: () => Promise.resolve(),
      once: (call, signal) => {
        const texts = Array.from({ length: 64 }, (_, i) => textOf(call * 64 + i, 900));
        return embed(texts, signal);
      },
    },
    {
      name: "many small embeds",
      callers: 200,
      prepare: () => Promise.resolve(),
      once: (call, signal) => embed([textOf(call, 900)], signal),
    },
  ];
}

async function shortCollection(tenant: Tenant, name: string): Promise<string> {
  const path = await tenant.createCollection(name);
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
