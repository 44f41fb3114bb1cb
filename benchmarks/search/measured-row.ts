/** Asks several servers the same questions in turns, so that what disturbs one disturbs all. */
import { median, quantile } from "../measure/statistics.ts";
import { type HttpClient, succeeded } from "./http-client.ts";

/** `floor`: a bare server; `pair`: one with a second bare process behind it. */
export type Contender = "Sheaf" | "Chroma" | "floor" | "pair";

/** They find nothing. */
const BARE: ReadonlySet<Contender> = new Set(["floor", "pair"]);

/** Who answers, and where a row's requests go. */
export interface Target {
  readonly contender: Contender;
  readonly client: HttpClient;
  readonly path: string;
  /** Questions that are timed; never more than there are bodies. */
  readonly requests: number;
  /** How often each of them is asked; once if left out. */
  readonly repeats?: number;
}

export interface Figures {
  readonly p50: number;
  readonly p99: number;
  /** The median of each turn. */
  readonly turns: readonly number[];
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

const ROUNDS = 10;
/**
 * Every contender is asked for that long before its first time counts: V8 compiles what is asked often, some thousand
 * requests long, and a server that people use is past that.
 */
const WARM_UP_MS = 5_000;
/** And that long at the start of each turn, for the turns of the others have left nothing of its own in the caches. */
const TURN_WARM_UP_MS = 150;

/** Of the questions to servers that answer soon: the median of a turn that asks 30 once is off by some hundredths. */
export const REPEATS = 3;

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
  for (const run of runs) await run.warmUp(WARM_UP_MS);
  for (let round = 1; round <= ROUNDS; round++) for (const run of runs) await run.takeTurn(round / ROUNDS);
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
  readonly #turns: number[] = [];
  readonly #answers: Buffer[] = [];
  /** Question that the last request of a warm-up asked. */
  #warming = 0;

  constructor(id: string, row: Row, target: Target) {
    this.id = id;
    this.target = target;
    this.#row = row;
  }

  /** Asks the questions from the last to the first, and again. */
  async warmUp(milliseconds: number): Promise<void> {
    const { client, path } = this.target;
    const { bodies } = this.#row;
    const start = performance.now();
    while (performance.now() - start < milliseconds) {
      this.#warming = (this.#warming || bodies.length) - 1;
      succeeded(await client.post(path, bodies[this.#warming] ?? Buffer.alloc(0)));
    }
  }

  /** Goes on until that share of the requests has been made. */
  async takeTurn(share: number): Promise<void> {
    const { client, path, requests, repeats = 1 } = this.target;
    await this.warmUp(TURN_WARM_UP_MS);
    const before = this.#times.length;
    const bodies = this.#row.bodies.slice(this.#answers.length, Math.round(requests * share));
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const body of bodies) {
        const start = performance.now();
        const answer = succeeded(await client.post(path, body));
        this.#times.push(performance.now() - start);
        if (repeat === 0) this.#answers.push(answer);
      }
    }
    this.#turns.push(median(this.#times.slice(before)));
  }

  figures(): Figures {
    const sizes = this.#answers.map(({ byteLength }) => byteLength);
    return {
      p50: quantile(this.#times, 0.5),
      p99: quantile(this.#times, 0.99),
      turns: this.#turns,
      recall: BARE.has(this.target.contender) ? null : recall(this.#answers, this.#row.truth),
      answerBytes: quantile(sizes, 0.5),
    };
  }
}

/**
 * How many times as long as `to`: the median over the turns, each beside the other's of the same round. The machine
 * is faster in some seconds than in others, which moves the medians of all turns apart and this hardly.
 */
export function latencyRatio(figures: Figures | undefined, to: Figures | undefined): number | undefined {
  if (figures === undefined || to === undefined) return undefined;
  return median(figures.turns.map((turn, round) => turn / (to.turns[round] ?? Number.NaN)));
}

/** `null` without a truth. */
export function recall(answers: readonly Buffer[], truth: Row["truth"]): number | null {
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
