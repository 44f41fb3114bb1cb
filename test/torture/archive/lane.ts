/**
 * One writer with a database of its own. It asks for one thing at a time, so what an archive leads to must be one of the
 * states that it has gone through, and the moments of questions and answers say which ones it may be.
 */
import type { ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import type { Choices } from "../choices.ts";
import { Violation } from "../violation.ts";
import { type LaneOperation, type LaneOperationKind, laneOperation } from "./lane-operations.ts";
import { type LaneCollection, type LaneState, describeState, difference } from "./lane-state.ts";

const DATABASES = "/api/v2/tenants/default_tenant/databases";

/** Milliseconds since 1970. `answered`: infinite where it was not. */
interface Step {
  readonly state: LaneState;
  readonly sent: number;
  readonly answered: number;
}

/** Told before each question. */
export type OnSend = (kind: LaneOperationKind) => void;

export class Lane {
  readonly database: string;
  readonly #choices: Choices;
  #steps: Step[] = [{ state: new Map(), sent: 0, answered: 0 }];
  #pending: { readonly operation: LaneOperation; readonly sent: number } | null = null;
  #next = 0;
  acknowledged = 0;

  constructor(database: string, choices: Choices) {
    this.database = database;
    this.#choices = choices;
  }

  async make(server: ServedSheaf): Promise<void> {
    await server.ask(DATABASES, { name: this.database });
  }

  /** Until it is told to stop, or a question is not answered. */
  async run(server: ServedSheaf, stop: AbortSignal, onSend: OnSend): Promise<void> {
    while (!stop.aborted && this.#pending === null) {
      const operation = laneOperation(this.#state, this.#choices, () => this.#next++);
      const sent = Date.now();
      this.#pending = { operation, sent };
      onSend(operation.kind);
      const { method, path, json } = operation;
      const init = json === null ? { method } : { method, json };
      const reply = await server
        .request(`${this.#collections}${path}`, init)
        .then(async (answer) => ({ status: answer.status, body: await answer.text() }))
        .catch(() => null);
      // 503: the engine host is gone, and nobody knows what became of it.
      if (reply === null || reply.status === 503) return;
      if (reply.status >= 300)
        throw new Violation(`${this.database}: ${operation.kind} is answered with ${reply.status}`, [
          reply.body,
        ]);
      const made = operation.kind === "create" || operation.kind === "fork" ? reply.body : "null";
      const state = operation.after(JSON.parse(made) as { readonly id?: string } | null);
      this.#steps.push({ state, sent, answered: Date.now() });
      this.#pending = null;
      this.acknowledged += 1;
    }
  }

  /** Takes what is there for what was asked for: of a question without an answer both are right. */
  async settle(server: ServedSheaf): Promise<void> {
    const found = await this.read(server);
    const allowed: Step[] = [this.#steps.at(-1)!];
    if (this.#pending !== null) {
      const { operation, sent } = this.#pending;
      allowed.push({ state: operation.after(null), sent, answered: Number.POSITIVE_INFINITY });
    }
    const now = describeState(found);
    const [last, later] = allowed;
    const isLast = describeState(last!.state) === now;
    if (!isLast && (later === undefined || describeState(later.state) !== now))
      throw new Violation(
        `${this.database}: the server does not hold what was acknowledged`,
        allowed.flatMap(({ state }) => ["or:", ...difference(state, found)]),
      );
    // Ids are known from here on. Whoever reads a state has it acknowledged.
    if (isLast) this.#steps[this.#steps.length - 1] = { ...last!, state: found };
    else this.#steps.push({ state: found, sent: later!.sent, answered: Date.now() });
    this.#pending = null;
  }

  /** States of before `time` are forgotten, as far as none of them holds then. */
  forgetBefore(time: number): void {
    const first = this.#steps.findLastIndex(({ answered }) => answered < time);
    if (first > 0) this.#steps = this.#steps.slice(first);
  }

  /**
   * Holds what was restored to what was acknowledged before `until`, and asked for up to it; both in milliseconds. Gives how
   * many states that allowed.
   */
  check(found: LaneState, until: number, what: string): number {
    const first = Math.max(
      0,
      this.#steps.findLastIndex(({ answered }) => answered < until),
    );
    const end = this.#steps.findIndex(({ sent }) => sent > until);
    const allowed = this.#steps.slice(first, end < 0 ? undefined : Math.max(end, first + 1));
    const text = describeState(found);
    if (allowed.some(({ state }) => describeState(state) === text)) return allowed.length;
    const elsewhere = this.#steps.findIndex(({ state }) => describeState(state) === text);
    throw new Violation(`${this.database}: ${what} is not a state of that moment`, [
      `allowed are states ${first} to ${first + allowed.length - 1} of ${this.#steps.length}`,
      elsewhere < 0 ? "it is none that was ever there" : `it is state ${elsewhere}`,
      ...allowed.flatMap(({ state }) => ["or:", ...difference(state, found)]),
    ]);
  }

  get #state(): LaneState {
    return this.#steps.at(-1)!.state;
  }

  get #collections(): string {
    return `${DATABASES}/${this.database}/collections`;
  }

  /** What a server has of it. */
  async read(server: ServedSheaf): Promise<LaneState> {
    const all = await server.ask<readonly ListedCollection[]>(this.#collections);
    const state = new Map<string, LaneCollection>();
    for (const { id, name, metadata } of all) {
      const { ids, metadatas } = await server.ask<ReadRecords>(`${this.#collections}/${id}/get`, {
        include: ["metadatas"],
      });
      const records = new Map(ids.map((one, i) => [one, metadatas[i]?.value ?? Number.NaN]));
      state.set(name, { id, mark: metadata?.mark ?? Number.NaN, records });
    }
    return state;
  }
}

interface ListedCollection {
  readonly id: string;
  readonly name: string;
  readonly metadata: { readonly mark: number } | null;
}

interface ReadRecords {
  readonly ids: readonly string[];
  readonly metadatas: readonly { readonly value: number }[];
}
