/** Asks queries one after the other, and keeps the time and the answer of each. */
import { quantile } from "../../measure/statistics.ts";
import type { Answer, HttpClient } from "../../search/http-client.ts";
import { recall } from "../../search/measured-row.ts";
import { K } from "../../search/workload/ground-truth.ts";

/** Milliseconds, and what was wrong. */
export interface AskedFigures {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Of the exact neighbours, the share that was found, an answer that failed having none; `null`: none are known. */
  readonly recall: number | null;
  /** Answers with fewer records than were asked for, where there are as many. */
  readonly short: number;
  /** How often, by status; 0: the connection broke. */
  readonly failures: Readonly<Record<number, number>>;
}

export interface QuestionsToAsk {
  readonly client: HttpClient;
  readonly path: string;
  readonly bodies: readonly Buffer[];
  /** Exact ids of each query. */
  readonly truth?: readonly (readonly string[])[];
  /** Asks from the first again after the last; as many as there are bodies if left out. */
  readonly requests?: number;
  /** Ends earlier than that. */
  readonly isOver?: () => boolean;
}

const NOTHING_FOUND = Buffer.from('{"ids":[[]]}');

export async function askQueries(questions: QuestionsToAsk): Promise<AskedFigures> {
  const { client, path, bodies, truth, requests = bodies.length, isOver = () => false } = questions;
  const times: number[] = [];
  const answers: Buffer[] = [];
  const failures: Record<number, number> = {};
  for (let i = 0; i < requests && !isOver(); i++) {
    const start = performance.now();
    const { status, body } = await answerTo(client, path, bodies[i % bodies.length]!);
    times.push(performance.now() - start);
    if (status !== 200) failures[status] = (failures[status] ?? 0) + 1;
    answers.push(status === 200 ? body : NOTHING_FOUND);
  }
  const exact = truth === undefined ? undefined : answers.map((_, i) => truth[i % bodies.length]!);
  const wanted = (i: number): number => exact?.[i]?.length ?? K;
  return {
    requests: times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    max: quantile(times, 1),
    recall: recall(answers, exact),
    short: answers.filter((answer, i) => answer !== NOTHING_FOUND && found(answer) < wanted(i)).length,
    failures,
  };
}

export function answerTo(client: HttpClient, path: string, body: Buffer): Promise<Answer> {
  return client.post(path, body).catch(() => ({ status: 0, body: Buffer.alloc(0) }));
}

function found(answer: Buffer): number {
  const { ids } = JSON.parse(answer.toString()) as { readonly ids: readonly (readonly string[])[] };
  return ids[0]?.length ?? 0;
}
