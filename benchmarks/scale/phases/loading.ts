/**
 * Loads a set over HTTP: most of it as fast as the server takes it, the rest at a fixed rate beside a searching client,
 * the last of it beside one that asks under filters that are new to the server.
 */
import { cpuSeconds } from "../../measure/process-tree.ts";
import { quantile } from "../../measure/statistics.ts";
import { TaskProcess } from "../../measure/task-process.ts";
import type { HttpClient } from "../../search/http-client.ts";
import { floorPath, startFloor } from "../../search/servers/floor-server.ts";
import type { ServerUnderTest } from "../../search/servers/server-under-test.ts";
import type { LargeSet } from "../data/large-set.ts";
import type { LoadTask, Loaded } from "../load/loader-process.ts";
import type { ScaleOptions } from "../options.ts";
import { type AskedFigures, askQueries } from "./ask-queries.ts";

const FLOOR_ROWS = 20_000;
/** `{}`, the answer to a write. */
const WRITE_ANSWER_BYTES = 2;
/** Of the rows, what is written before the others begin to search. */
const ALONE = 0.8;
const BESIDE_SEARCHES = 0.975;
/** Records a second beside searches; somewhat over the 5,000 that the bar asks for. */
const PACED_RATE = 5_250;

export interface WriteFigures {
  readonly recordsPerSecond: number;
  /** Of the machine's processors, what the client and the server took. */
  readonly clientCores: number;
  readonly serverCores: number;
  readonly batchP50: number;
  readonly batchP99: number;
  readonly refusals: number;
}

export interface LoadFigures {
  readonly rows: number;
  readonly bytesPerRecord: number;
  /** With nothing else to do. */
  readonly alone: WriteFigures;
  /** Records a second of a bare server that only parses the same requests; `null`: not measured. */
  readonly floor: number | null;
  readonly besideSearches: WriteFigures;
  readonly searches: AskedFigures;
  /** Under filters that are new to the server. */
  readonly newFilters: AskedFigures;
}

export interface LoadQuestions {
  readonly searches: readonly Buffer[];
  readonly newFilters: readonly Buffer[];
}

type Form = Pick<ScaleOptions, "batch" | "encoding" | "inFlight" | "untimed">;

export async function loadSet(
  set: LargeSet,
  server: ServerUnderTest,
  path: string,
  options: { readonly form: Form; readonly questions: LoadQuestions },
): Promise<LoadFigures> {
  const { form, questions } = options;
  const loader = new Loader(set, form);
  try {
    const floor = form.untimed ? null : await floorRate(loader, set.rows);
    const alone = Math.floor(ALONE * set.rows);
    const beside = Math.floor(BESIDE_SEARCHES * set.rows);
    const target = { server, path: `${path}/add` };
    const first = await loader.write(target, 0, alone);
    const rate = form.untimed ? null : PACED_RATE;
    const asked = async (bodies: readonly Buffer[], from: number, to: number) => {
      let isOver = false;
      const written = loader.write(target, from, to, rate).finally(() => (isOver = true));
      const searched = askQueries({
        client: server.client,
        path: `${path}/query`,
        bodies,
        requests: bodies === questions.newFilters ? bodies.length : Number.POSITIVE_INFINITY,
        isOver: () => isOver,
      });
      const [writes, searches] = await Promise.all([written, searched]);
      return { writes, searches };
    };
    const paced = await asked(questions.searches, alone, beside);
    const last = await asked(questions.newFilters, beside, set.rows);
    return {
      rows: alone,
      bytesPerRecord: first.bytesPerRecord,
      alone: first.figures,
      floor,
      besideSearches: paced.writes.figures,
      searches: paced.searches,
      newFilters: last.searches,
    };
  } finally {
    await loader.stop();
  }
}

interface WriteTarget {
  readonly server: { readonly client: HttpClient; readonly pid: number };
  readonly path: string;
}

class Loader {
  readonly #process = new TaskProcess(new URL("../load/loader-process.ts", import.meta.url));
  readonly #set: LargeSet;
  readonly #form: Form;

  constructor(set: LargeSet, form: Form) {
    this.#set = set;
    this.#form = form;
  }

  async write(
    { server, path }: WriteTarget,
    from: number,
    to: number,
    rate: number | null = null,
  ): Promise<{ figures: WriteFigures; bytesPerRecord: number }> {
    const { files, dimension } = this.#set;
    const { batch, encoding, inFlight } = this.#form;
    const { url, headers } = server.client.formOf(path);
    const target = { url: url.href, path, headers };
    const before = await cpuSeconds(server.pid);
    const task: LoadTask = { files, dimension, from, to, batch, encoding, inFlight, rate, target };
    const loaded = await this.#process.ask<Loaded>(task);
    const { records, seconds, clientSeconds, milliseconds, refusals, bodyBytes } = loaded;
    const figures = {
      recordsPerSecond: records / seconds,
      clientCores: clientSeconds / seconds,
      serverCores: ((await cpuSeconds(server.pid)) - before) / seconds,
      batchP50: quantile(milliseconds, 0.5),
      batchP99: quantile(milliseconds, 0.99),
      refusals,
    };
    return { figures, bytesPerRecord: bodyBytes / records };
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}

async function floorRate(loader: Loader, rows: number): Promise<number> {
  const floor = await startFloor("alone");
  try {
    const path = floorPath(WRITE_ANSWER_BYTES);
    const target = { server: { client: floor.client, pid: floor.pid }, path };
    // The first turn is for the compiler.
    await loader.write(target, 0, Math.min(FLOOR_ROWS, rows));
    const { figures } = await loader.write(target, 0, Math.min(FLOOR_ROWS, rows));
    return figures.recordsPerSecond;
  } finally {
    await floor.stop();
  }
}
