/**
 * How a bound is held by a test: something at the bound that passes, something over it that is refused. Most are sent
 * to a server; where that would take gigabytes or minutes, the function that holds the bound is asked.
 */
import { SheafError } from "@sheaf/protocol";
import {
  type Ask,
  COLLECTIONS,
  type TestApp,
  startTestApp,
} from "../../../packages/server/src/testing/test-app.ts";

export interface Outcome {
  readonly status: number;
  /** What a refusal says; empty where there is none. */
  readonly message: string;
}

export interface LimitCase {
  readonly at: (bench: Bench) => Promise<Outcome>;
  readonly over: (bench: Bench) => Promise<Outcome>;
  /** In the message of the refusal: the name of what is too large. */
  readonly says: RegExp;
}

/** A case of a bound of this value. */
export type CaseOf = (value: number) => LimitCase;

const PASSED: Outcome = { status: 200, message: "" };

/** A server that the cases share, started when the first one asks for it. */
export class Bench {
  #app: Promise<TestApp> | null = null;
  #collections = 0;

  app(): Promise<TestApp> {
    this.#app ??= startTestApp();
    return this.#app;
  }

  async send(request: string, ask: Ask): Promise<Outcome> {
    const { status, body } = await (await this.app()).ask(request, ask);
    return outcomeOf(status, body);
  }

  /** The body of an answer that must be a success. */
  async ask<T>(request: string, ask: Ask = {}): Promise<T> {
    const { status, body, text } = await (await this.app()).ask(request, ask);
    if (status >= 400) throw new Error(`${request}: ${status} ${text}`);
    return body as T;
  }

  /** Path of a new collection, empty and without a model. */
  async collection(name = `bounded-${++this.#collections}`): Promise<string> {
    const json = { name, configuration: { embedding_function: null } };
    const { id } = await this.ask<{ id: string }>(`POST ${COLLECTIONS}`, { json });
    return `${COLLECTIONS}/${id}`;
  }

  async close(): Promise<void> {
    await (await this.#app)?.close();
  }
}

export function outcomeOf(status: number, body: unknown): Outcome {
  const { message, error } = (body ?? {}) as { readonly message?: string; readonly error?: string };
  return { status, message: status < 400 ? "" : (message ?? error ?? "") };
}

/** A request to a fresh collection, as large as `make` is told to make it. */
export function toCollection(request: string, says: RegExp, make: (size: number) => unknown): CaseOf {
  const send = async (bench: Bench, size: number): Promise<Outcome> =>
    bench.send(`POST ${await bench.collection()}/${request}`, { json: make(size) });
  return bySize(send, says);
}

/** A request to a path of the server. */
export function toServer(request: string, says: RegExp, make: (size: number) => unknown): CaseOf {
  return bySize((bench, size) => bench.send(request, { json: make(size) }), says);
}

/** @param step From the bound to what is over it: -1 for the least that something may be. */
export function bySize(
  send: (bench: Bench, size: number) => Promise<Outcome>,
  says: RegExp,
  step = 1,
): CaseOf {
  return (value) => ({
    at: (bench) => send(bench, value),
    over: (bench) => send(bench, value + step),
    says,
  });
}

/** What a function does instead of a server. */
export async function called(work: () => unknown): Promise<Outcome> {
  try {
    await work();
    return PASSED;
  } catch (error) {
    if (error instanceof SheafError) return { status: error.status, message: error.message };
    throw error;
  }
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
