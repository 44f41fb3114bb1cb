/**
 * A second tenant with work of its own, who asks one thing after another while somebody else attacks. Each answer is
 * compared with the one that is known to be right, and every time is kept.
 */
import type { ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import { type Tenant, createTenant } from "./tenant.ts";

export const MINILM = "sentence-transformers/all-MiniLM-L6-v2";
const DIMENSIONS = 32;
const RECORDS_PER_CALL = 1_000;
/** Between two questions, so that the prober is a caller and no attack of its own. */
const PAUSE_MS = 10;
const ROUNDING = 1e-5;
/** Longer than any answer may take; it tells slow from hung. */
const HUNG_MS = 30_000;

/** What a bystander asks for, in turn. */
export const QUESTIONS = ["get", "search", "embed"] as const;
export type Question = (typeof QUESTIONS)[number];

export interface Answered {
  readonly question: Question;
  readonly milliseconds: number;
  /** `null`: the right answer; else what was wrong with it. */
  readonly fault: string | null;
}

export interface BystanderOptions {
  readonly name?: string;
  readonly records?: number;
}

export class Bystander {
  readonly #tenant: Tenant;
  readonly #collection: string;
  readonly #records: number;
  #expectedEmbedding: readonly number[] = [];

  private constructor(tenant: Tenant, collection: string, records: number) {
    this.#tenant = tenant;
    this.#collection = collection;
    this.#records = records;
  }

  /** Makes the tenant and its collection, and asks every question once so that models and files are open. */
  static async settle(served: ServedSheaf, options: BystanderOptions = {}): Promise<Bystander> {
    const { name = "bystander", records = 500 } = options;
    const tenant = await createTenant(served, name);
    const bystander = new Bystander(tenant, await tenant.createCollection("known"), records);
    await bystander.#fill();
    return bystander;
  }

  async #fill(): Promise<void> {
    for (let first = 0; first < this.#records; first += RECORDS_PER_CALL) {
      const length = Math.min(RECORDS_PER_CALL, this.#records - first);
      const numbers = Array.from({ length }, (_, i) => first + i);
      await this.#tenant.expect(200, `${this.#collection}/upsert`, {
        ids: numbers.map((i) => `r${i}`),
        embeddings: numbers.map(vectorOf),
        documents: numbers.map((i) => `document ${i}`),
      });
    }
    const reply = await this.#tenant.send("/embed", EMBED_BODY, EMBED_OPTIONS);
    if (reply.status !== 200) throw new Error(`the bystander cannot embed: ${reply.status}`);
    this.#expectedEmbedding = embeddingOf(await reply.text());
  }

  /** Asks until `work` is over, at least each question once, and gives all answers beside what `work` gave. */
  async during<T>(work: () => Promise<T>): Promise<{ value: T; answers: readonly Answered[] }> {
    let isOver = false;
    const asking = this.#askUntil(() => isOver);
    try {
      const value = await work();
      isOver = true;
      return { value, answers: await asking };
    } finally {
      isOver = true;
      await asking;
    }
  }

  async ask(question: Question, turn: number): Promise<Answered> {
    const startedAt = performance.now();
    const fault = await this.#ask(question, turn % this.#records).catch((error: unknown) => String(error));
    return { question, milliseconds: performance.now() - startedAt, fault };
  }

  async #askUntil(isOver: () => boolean): Promise<Answered[]> {
    const answers: Answered[] = [];
    for (let turn = 0; turn < QUESTIONS.length || !isOver(); turn++) {
      answers.push(await this.ask(QUESTIONS[turn % QUESTIONS.length]!, turn));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return answers;
  }

  /** `null` for the right answer. */
  async #ask(question: Question, i: number): Promise<string | null> {
    const options = { signal: AbortSignal.timeout(HUNG_MS) };
    if (question === "embed") {
      const reply = await this.#tenant.send("/embed", EMBED_BODY, { ...EMBED_OPTIONS, ...options });
      const text = await reply.text();
      if (reply.status !== 200) return refusal(question, reply, text);
      return isClose(embeddingOf(text), this.#expectedEmbedding) ? null : "embed: another vector";
    }
    const [path, body, expected] =
      question === "get"
        ? [
            `${this.#collection}/get`,
            { ids: [`r${i}`], include: ["documents"] },
            `"documents":["document ${i}"]`,
          ]
        : [`${this.#collection}/search`, searchBody(i), `"ids":[["r${i}"]]`];
    const reply = await this.#tenant.send(path, body, options);
    const text = await reply.text();
    return reply.status === 200 && text.includes(expected) ? null : refusal(question, reply, text);
  }
}

/** What an outage of the engine may make of an answer. */
export const COME_BACK = /^\w+: 503, retry-after [1-9]\d*, /u;

function refusal(question: Question, { status, headers }: Response, text: string): string {
  return `${question}: ${status}, retry-after ${headers.get("retry-after")}, ${text}`;
}

const EMBED_BODY = { texts: ["a bystander"], instructions: "" };
const EMBED_OPTIONS = { headers: { "x-service-embedding-model": MINILM } };

function embeddingOf(reply: string): readonly number[] {
  return (JSON.parse(reply) as { embeddings: readonly (readonly number[])[] }).embeddings[0] ?? [];
}

/** The last bits of an embedding depend on the size of its batch. */
function isClose(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((x, i) => Math.abs(x - other[i]!) < ROUNDING);
}

function searchBody(i: number): unknown {
  return { searches: [{ rank: { $knn: { query: vectorOf(i), limit: 10 } }, limit: { limit: 1 } }] };
}

/** No two records lie on the same place, nor near each other. */
function vectorOf(i: number): number[] {
  return Array.from({ length: DIMENSIONS }, (_, d) => (Math.sin(i * 12.9898 + d * 78.233) * 43_758.5453) % 1);
}
