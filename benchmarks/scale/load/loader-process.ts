/**
 * Writes rows of a set over HTTP from a process of its own, some requests at a time. Where the server asks to come
 * again (429, 503) it does, a second later.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { answerTasks } from "../../measure/task-process.ts";
import { HttpClient, succeeded } from "../../search/http-client.ts";
import type { RequestForm } from "../../search/raw-connection.ts";
import { readGroups } from "../data/large-set.ts";
import { VectorFile } from "../data/vector-file.ts";
import { type Encoding, writeBody } from "./write-body.ts";

const COME_BACK: ReadonlySet<number> = new Set([429, 503]);
const COME_BACK_MS = 1_000;

export interface LoadTask {
  readonly files: { readonly vectors: string; readonly groups: string };
  readonly dimension: number;
  readonly from: number;
  /** The row after the last. */
  readonly to: number;
  readonly batch: number;
  readonly encoding: Encoding;
  /** Requests at a time. */
  readonly inFlight: number;
  /** Records a second, at most; `null`: as many as the server takes. */
  readonly rate: number | null;
  readonly target: { readonly url: string } & Omit<RequestForm, "url">;
}

export interface Loaded {
  readonly records: number;
  readonly seconds: number;
  /** Processor time of this process. */
  readonly clientSeconds: number;
  /** Requests that were answered 429 or 503 and made again. */
  readonly refusals: number;
  /** Of each request. */
  readonly milliseconds: readonly number[];
  readonly bodyBytes: number;
}

answerTasks((task): Promise<Loaded> => load(task as LoadTask));

async function load(task: LoadTask): Promise<Loaded> {
  const { files, dimension, from, to, batch, encoding, inFlight, rate, target } = task;
  const vectors = new VectorFile(files.vectors, dimension);
  const groups = readGroups(files.groups);
  const client = new HttpClient(target.url, target.headers);
  const milliseconds: number[] = [];
  let [refusals, bodyBytes] = [0, 0];
  let next = from;
  const before = process.cpuUsage();
  const start = performance.now();
  const write = async (): Promise<void> => {
    while (next < to) {
      const [first, end] = [next, Math.min(next + batch, to)];
      next = end;
      const body = writeBody(
        { from: first, dimension, vectors: vectors.read(first, end), groups: groups.subarray(first, end) },
        encoding,
      );
      bodyBytes += body.byteLength;
      const due = rate === null ? 0 : start + (1_000 * (first - from)) / rate;
      if (due > performance.now()) await sleep(due - performance.now());
      const sent = performance.now();
      let answer = await client.post(target.path, body);
      for (; COME_BACK.has(answer.status); refusals++) {
        await sleep(COME_BACK_MS);
        answer = await client.post(target.path, body);
      }
      succeeded(answer);
      milliseconds.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, write));
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(before);
  vectors.close();
  client.close();
  const clientSeconds = (user + system) / 1e6;
  return { records: to - from, seconds, clientSeconds, refusals, milliseconds, bodyBytes };
}
