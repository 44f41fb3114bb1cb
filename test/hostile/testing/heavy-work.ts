/**
 * Legal work of one tenant that keeps a server busy: bulk writes, large reads, filters by regular expression, searches,
 * and the embedding of many and of long texts. Each piece is one call that a careful client might send; many of them
 * are under way at a time. Refusals with 429 and 503 are legal answers, anything else but success is not.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { MINILM } from "./bystander.ts";
import type { SendOptions, Tenant } from "./tenant.ts";

const WORDS = "river engine harbour fast slow winter stone bread light paper signal garden".split(" ");
const DIMENSIONS = 384;
const LARGE_RECORDS = 50;
const LARGE_DOCUMENT = 1024 * 1024;
const SHORT_RECORDS = 10_000;
const RECORDS_PER_CALL = 1_000;
/** The longest document there may be, in letters of two bytes. */
const LONGEST_DOCUMENT = "ы".repeat(8 * 1024 * 1024);
/** Of one record: 31 MB on disk. */
const ARRAYS = 30;
const INTEGERS = 130_001;
const EMBEDDED_RECORDS = 300;

export interface HeavyWork {
  /** Makes what `once` needs. */
  prepare(): Promise<void>;
  /** Calls that are under way at a time. */
  readonly callers: number;
  /** Attacks are to be refused; of legal work only 429 and 503 are legal refusals. */
  readonly isAttack?: boolean;
  /** One call, whose answer is read whole; the status. */
  once(call: number, signal: AbortSignal): Promise<number>;
}

export type MakeWork = (tenant: Tenant) => HeavyWork;

/** By name. */
export const WORKS: Readonly<Record<string, MakeWork>> = {
  "bulk writes": bulkWrites,
  "50 MB reads": largeReads,
  "long documents": longDocuments,
  "long records": longRecords,
  "embedded writes": embeddedWrites,
  "regular expressions": patterns,
  searches,
  "large embeds": largeEmbeds,
  "many small embeds": smallEmbeds,
};
const REFUSED: ReadonlySet<number | null> = new Set([429, 503]);

export interface CallCounts {
  readonly answered: number;
  /** With a status, or by a connection that was closed. */
  readonly refused: number;
}

/**
 * Keeps all callers of a work busy for so many seconds, or until the first call is answered where that is later, and
 * cuts the calls that are then under way.
 */
export async function keepBusy(work: HeavyWork, seconds: number): Promise<CallCounts> {
  const counts = { answered: 0, refused: 0 };
  const end = new AbortController();
  // Each of many calls listens, and `fetch` goes on to for a while after its answer.
  setMaxListeners(0, end.signal);
  const until = performance.now() + seconds * 1_000;
  const endWhenDone = (): void => {
    if ((counts.answered > 0 || work.isAttack === true) && performance.now() >= until) end.abort();
  };
  // A fetch that is cut while its answer comes may never settle.
  const cut = new Promise<null>((resolve) =>
    end.signal.addEventListener("abort", () => resolve(null), { once: true }),
  );
  const timer = setTimeout(endWhenDone, seconds * 1_000 + 1);
  let call = 0;
  const callers = Array.from({ length: work.callers }, async () => {
    while (!end.signal.aborted) {
      const answered = work.once(call++, end.signal).catch((error: unknown) => {
        if (end.signal.aborted || work.isAttack === true) return null;
        throw error;
      });
      const outcome = await Promise.race([answered, cut]);
      if (end.signal.aborted) return;
      const isAnswered = outcome === 200 || outcome === 201;
      if (!isAnswered && !REFUSED.has(outcome) && work.isAttack !== true) {
        throw new Error(`a legal call was answered with ${outcome}`);
      }
      if (isAnswered) counts.answered++;
      else counts.refused++;
      endWhenDone();
      // A refused client comes back later, not at once.
      if (!isAnswered) await sleep(50);
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
      path = await documentCollection(tenant, LARGE_RECORDS, LARGE_DOCUMENT);
    },
    once: (_call, signal) => status(tenant, `${path}/get`, { include: ["documents"] }, { signal }),
  };
}

function longDocuments(tenant: Tenant): HeavyWork {
  const record = { ids: ["r"], embeddings: [[1]], documents: [LONGEST_DOCUMENT] };
  return writesAndReads(tenant, "longest", JSON.stringify(record), "documents");
}

function longRecords(tenant: Tenant): HeavyWork {
  const list = `[${"1,".repeat(INTEGERS - 1)}1]`;
  const metadata = Array.from({ length: ARRAYS }, (_, i) => `"k${i}":${list}`).join(",");
  const record = `{"ids":["r"],"embeddings":[[1]],"metadatas":[{${metadata}}]}`;
  return writesAndReads(tenant, "arrays", record, "metadatas");
}

/** In turn. */
function writesAndReads(tenant: Tenant, name: string, record: string, include: string): HeavyWork {
  let path = "";
  return {
    callers: 2,
    prepare: async () => {
      path = await tenant.createCollection(name, { get_or_create: true });
    },
    once: (call, signal) =>
      call % 2 === 0
        ? status(tenant, `${path}/upsert`, record, { signal })
        : status(tenant, `${path}/get`, { include: [include] }, { signal }),
  };
}

/** Large ones whose vectors the server makes. */
function embeddedWrites(tenant: Tenant): HeavyWork {
  let path = "";
  const numbers = Array.from({ length: EMBEDDED_RECORDS }, (_, i) => i);
  const body = JSON.stringify({
    ids: numbers.map((i) => `r${i}`),
    documents: numbers.map((i) => textOf(i, 20)),
    metadatas: numbers.map((i) => ({ text: textOf(i, 50_000) })),
  });
  return {
    callers: 1,
    prepare: async () => {
      const embedding_function = { type: "known", name: "sheaf", config: { model: MINILM } };
      path = await tenant.createCollection("embedded", { configuration: { embedding_function } });
    },
    once: (_call, signal) => status(tenant, `${path}/upsert`, body, { signal }),
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
export async function shortCollection(tenant: Tenant): Promise<string> {
  const path = await tenant.createCollection("short", { get_or_create: true });
  if ((await tenant.expect(200, `${path}/count`)) === SHORT_RECORDS) return path;
  for (let first = 0; first < SHORT_RECORDS; first += RECORDS_PER_CALL) {
    await tenant.expect(201, `${path}/add`, shortRecords(first));
  }
  return path;
}

/** So many documents of as many characters each; one collection for all works that read the same. */
export async function documentCollection(tenant: Tenant, count: number, length: number): Promise<string> {
  const path = await tenant.createCollection(`documents-${count}-${length}`, { get_or_create: true });
  const document = textOf(7, length);
  for (let i = await tenant.expect<number>(200, `${path}/count`); i < count; i++) {
    await tenant.expect(201, `${path}/add`, { ids: [`r${i}`], embeddings: [[i]], documents: [document] });
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

export async function status(
  tenant: Tenant,
  path: string,
  body: unknown,
  options: SendOptions,
): Promise<number> {
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
