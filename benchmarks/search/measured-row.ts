/** Asks several servers the same questions in turns, so that what disturbs one disturbs all. */
import { quantile } from "../measure/statistics.ts";
import { type HttpClient, succeeded } from "./http-client.ts";

export const CONTENDERS = ["Sheaf", "Chroma", "floor"] as const;
export type Contender = (typeof CONTENDERS)[number];

/** Who answers, and where a row's requests go. */
export interface Target {
  readonly contender: Contender;
  readonly client: HttpClient;
  readonly path: string;
  /** Requests that are timed; never more than there are bodies. */
  readonly requests: number;
}

export interface Figures {
  readonly p50: number;
  readonly p99: number;
  /** Of the exact answers, the share that was found; `null` where nothing exact is known. */
  readonly recall: number | null;
  /** Median bytes of an answer. */
  readonly answerBytes: number;
}

export interface Row {
  readonly bodies: readonly Buffer[];
  /** Exact ids of each query. */
  readonly truth?: readonly (readonly string[])[] | undefined;
}

const ROUNDS = 6;
/**
 * Every contender is asked for that long before its first time counts: servers on V8 or the JVM compile what is asked
 * often, and a server that people use is past that.
 */
const WARM_UP_MS = 1_500;

export type RowFigures = Partial<Record<Contender, Figures>>;

export async function measureRow(row: Row, targets: readonly Target[]): Promise<RowFigures> {
  return (await measureRows([{ id: "", row, targets }]))[""] ?? {};
}

export interface RowInTurn {
  readonly id: string;
  readonly row: Row;
  readonly targets: readonly Target[];
}

/** Several rows in turns too, by id. */
export async function measureRows(rows: readonly RowInTurn[]): Promise<Record<string, RowFigures>> {
  const runs = rows.flatMap(({ id, row, targets }) => targets.map((target) => new Run(id, row, target)));
  for (const run of runs) await run.warmUp();
  for (let round = 1; round <= ROUNDS; round++) for (const run of runs) await run.askUntil(round / ROUNDS);
  const figures: Record<string, RowFigures> = {};
  for (const run of runs) figures[run.id] = { ...figures[run.id], [run.target.contender]: run.figures() };
  return figures;
}

/** One row asked of one contender. */
class Run {
  readonly id: string;
  readonly target: Target;
  readonly #row: Row;
  readonly #times: number[] = [];
  readonly #answers: Buffer[] = [];

  constructor(id: string, row: Row, target: Target) {
    this.id = id;
    this.target = target;
    this.#row = row;
  }

  async warmUp(): Promise<void> {
    const { client, path } = this.target;
    const { bodies } = this.#row;
    const start = performance.now();
    for (let i = bodies.length - 1; performance.now() - start < WARM_UP_MS; i = (i || bodies.length) - 1) {
      succeeded(await client.post(path, bodies[i] ?? Buffer.alloc(0)));
    }
  }

  /** Goes on until that share of the requests has been made. */
  async askUntil(share: number): Promise<void> {
    const { client, path, requests } = this.target;
    for (const body of this.#row.bodies.slice(this.#times.length, Math.round(requests * share))) {
      const start = performance.now();
      const answer = await client.post(path, body);
      this.#times.push(performance.now() - start);
      this.#answers.push(succeeded(answer));
    }
  }

  figures(): Figures {
    const sizes = this.#answers.map(({ byteLength }) => byteLength);
    return {
      p50: quantile(this.#times, 0.5),
      p99: quantile(this.#times, 0.99),
      recall: this.target.contender === "floor" ? null : recall(this.#answers, this.#row.truth),
      answerBytes: quantile(sizes, 0.5),
    };
  }
}

function recall(answers: readonly Buffer[], truth: Row["truth"]): number | null {
  if (truth === undefined) return null;
  let wanted = 0;
  let found = 0;
  for (const [query, answer] of answers.entries()) {
    const { ids } = JSON.parse(answer.toString()) as { readonly ids: readonly (readonly string[])[] };
    const exact = truth[query] ?? [];
    wanted += exact.length;
    found += exact.filter((id) => ids[0]?.includes(id)).length;
  }
  return found / wanted;
}
