/**
 * One writer with one operation in flight and a log of its own. An acknowledged operation is in the log for good. One
 * whose answer got lost leaves two possible truths, and the next look at the server must find one of them, whole.
 */
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createCollection,
  createTwice,
  dropCollection,
  dropTwice,
  forkCollection,
  modifyCollection,
} from "./catalog-operations.ts";
import { Choices } from "./choices.ts";
import { type Holding, adopt, differences, secretsOf } from "./holding.ts";
import { keyOperation, revokeUnknown } from "./key-operations.ts";
import { NoAnswer, type ServerState, ask, holdingOf, observe } from "./observe.ts";
import type { Desk, Operation } from "./operation.ts";
import { type Target as WriteTarget, ownTarget, recordOperation, sharedTarget } from "./record-operations.ts";
import { COLLECTIONS, SHARED } from "./routes.ts";
import type { Outcome, Tally } from "./tally.ts";
import type { RecordMetadata } from "./torture-record.ts";
import type { Answer, Target } from "./tortured-server.ts";
import { Violation } from "./violation.ts";

const WEIGHTS = {
  records: 80,
  create: 4,
  drop: 2,
  fork: 1.5,
  modify: 3,
  key: 5,
  refused: 1.5,
  read: 6,
} as const;
const TARGETS = { own: 10, small: 7, large: 3 } as const;
const REMEMBERED = 12;
const RETRY_MS = 20;

export interface WriterOptions {
  readonly owner: string;
  readonly seed: number;
  /** Id of each shared collection by its name. */
  readonly sharedIds: ReadonlyMap<string, string>;
  readonly tally: Tally;
  /** It also makes, rotates and revokes keys. */
  readonly keys?: boolean;
  /** Of the collections that it divides; it divides none if left out. */
  readonly partitions?: number;
}

export class Writer {
  readonly owner: string;
  readonly #options: WriterOptions;
  #holding: Holding;
  /** What there is if the last operation happened; `null`: its outcome is known. */
  #pending: Holding | null = null;
  #nonce = 0;
  /** Newest last. */
  readonly #recent: string[] = [];

  constructor(options: WriterOptions) {
    this.owner = options.owner;
    this.#options = options;
    this.#holding = {
      collections: new Map(),
      shared: new Map([...options.sharedIds.keys()].map((name) => [name, new Map()])),
      keys: new Map(),
      revoked: [],
    };
  }

  /** Secrets whose fate the log knows, or nearly. */
  get secrets(): readonly string[] {
    return [...new Set(this.#allowed.flatMap((holding) => [...secretsOf(holding).keys()]))];
  }

  /** How many records of a shared collection are its own. */
  recordsIn(shared: string): number {
    return this.#holding.shared.get(shared)?.size ?? 0;
  }

  /** What the log says. */
  get holding(): Holding {
    return this.#holding;
  }

  /** To what the log said before, for the server was set back, too. */
  rollBack(holding: Holding): void {
    this.#holding = holding;
    this.#pending = null;
  }

  /** Writes until told to stop or until the gateway is gone. */
  async run(server: Target, cycle: number, stop: AbortSignal): Promise<void> {
    const choices = new Choices(this.#options.seed, `${this.owner}/${cycle}`);
    while (!stop.aborted) {
      try {
        if (this.#pending !== null) await this.#look(server);
        else await this.#act(server, choices);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        if (error.outcome === "broken") return;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Holds the server to the log; what it has becomes the truth to go on from. */
  settle(state: ServerState): void {
    const found = holdingOf(state, this.owner);
    const wrong: string[] = [];
    for (const [at, holding] of this.#allowed.entries()) {
      const different = differences(holding, found, state.taken);
      if (different.length === 0) {
        this.#holding = adopt(holding, found);
        this.#pending = null;
        return;
      }
      wrong.push(at === 0 ? "acknowledged:" : "or, had the unanswered operation happened:");
      wrong.push(...different.map((line) => `  ${line}`));
    }
    throw new Violation(`writer ${this.owner}: the server does not hold what the log says`, [
      ...wrong,
      "its last operations:",
      ...this.#recent.map((line) => `  ${line}`),
    ]);
  }

  get #allowed(): readonly Holding[] {
    return this.#pending === null ? [this.#holding] : [this.#holding, this.#pending];
  }

  async #look(server: Target): Promise<void> {
    this.settle(await observe(server, { owner: this.owner, secrets: this.secrets }));
  }

  async #act(server: Target, choices: Choices): Promise<void> {
    const desk: Desk = {
      owner: this.owner,
      choices,
      holding: this.#holding,
      partitions: this.#options.partitions ?? 1,
      nextNonce: () => ++this.#nonce,
    };
    const kind = choices.weighted(WEIGHTS);
    if (kind === "read") return this.#read(server, this.#target(desk));
    const operation = this.#operation(kind, desk);
    const answer = await server.send(operation.request);
    const outcome = this.#take(operation, answer);
    this.#options.tally.operation(operation.kind, outcome);
    this.#remember(operation, outcome);
    if (answer.outcome !== "answered") throw new NoAnswer(answer.outcome, operation.request);
  }

  #operation(kind: Exclude<keyof typeof WEIGHTS, "read">, desk: Desk): Operation {
    const names = [...desk.holding.collections.keys()];
    const name = names.length === 0 ? null : desk.choices.one(names);
    const isOfRecords = kind === "records" || (kind === "key" && this.#options.keys === false);
    const made = isOfRecords ? null : this.#otherOperation(kind, desk, name);
    return made ?? recordOperation(desk, this.#target(desk));
  }

  /** `null`: there is nothing to do it to. */
  #otherOperation(
    kind: Exclude<keyof typeof WEIGHTS, "read" | "records">,
    desk: Desk,
    name: string | null,
  ): Operation | null {
    if (kind === "key") return keyOperation(desk);
    if (kind === "create") return createCollection(desk);
    if (kind === "refused") {
      const choice = desk.choices.below(3);
      if (choice === 0) return revokeUnknown(desk);
      return choice === 1 || name === null ? dropTwice(desk) : createTwice(desk, name);
    }
    if (name === null) return null;
    if (kind === "drop") return dropCollection(desk, name);
    return kind === "fork" ? forkCollection(desk, name) : modifyCollection(desk, name);
  }

  #target(desk: Desk): WriteTarget {
    const { choices, holding } = desk;
    const kind = choices.weighted(TARGETS);
    const own = [...holding.collections.keys()];
    if (kind === "own" && own.length > 0) return ownTarget(desk, choices.one(own));
    const name = kind === "large" ? SHARED.large : SHARED.small;
    return sharedTarget(desk, name, this.#options.sharedIds.get(name) ?? "");
  }

  #take({ kind, request, refused, after, reply = {} }: Operation, answer: Answer): Outcome {
    if (answer.outcome !== "answered") {
      // What must be refused changes nothing, answered or not.
      this.#pending = refused === null ? after(null) : null;
      return "unknown";
    }
    const { status, body } = answer;
    const isExpected = refused === null ? status < 300 : status === refused;
    if (!isExpected) {
      throw new Violation(`writer ${this.owner}: ${kind} answered with ${status}`, [
        `expected: ${refused ?? "success"}`,
        `${request.method} ${request.path}`,
        `answer: ${JSON.stringify(body)}`,
        ...this.#recent,
      ]);
    }
    this.#holding = after(body);
    if (refused !== null) return "refused";
    for (const [name, value] of Object.entries(reply)) {
      const said = (body as Record<string, unknown>)[name];
      if (said === value) continue;
      const says = `the log says ${String(value)}, the server says ${String(said)}`;
      throw new Violation(`writer ${this.owner}: ${kind}: ${name}: ${says}`, [...this.#recent]);
    }
    return "acknowledged";
  }

  /** What was acknowledged is there for the next read already. */
  async #read(server: Target, target: WriteTarget): Promise<void> {
    const { ids, metadatas } = await ask<{ ids: string[]; metadatas: RecordMetadata[] }>(server, {
      method: "POST",
      path: `${COLLECTIONS}/${target.id}/get`,
      json: { where: { owner: this.owner }, include: ["metadatas"] },
    });
    this.#options.tally.reads += 1;
    const found = new Map(ids.map((id, row) => [id, metadatas[row]?.n ?? Number.NaN]));
    if (isDeepStrictEqual(found, target.records)) return;
    throw new Violation(`writer ${this.owner}: a read does not see what was acknowledged`, [
      `the log says ${JSON.stringify([...target.records])}`,
      `the server says ${JSON.stringify([...found])}`,
      ...this.#recent,
    ]);
  }

  #remember({ kind, request: { method, path, json } }: Operation, outcome: Outcome): void {
    const where = path.replace(COLLECTIONS, "…");
    const body = JSON.stringify(json ?? null).slice(0, 160);
    this.#recent.push(`${outcome}: ${kind}: ${method} ${where} ${body}`);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
  }
}
