/** Measures a server on one set, phase after phase. */
import { mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { temporaryFolder } from "../../test/e2e/testing/served-sheaf.ts";
import { foreignCpuSeconds } from "../measure/process-tree.ts";
import { folderMebibytes } from "../search/servers/folder-size.ts";
import { waitForRest } from "../search/workload/load-records.ts";
import { recordId } from "../search/workload/record-content.ts";
import { queryBodies } from "../search/workload/requests.ts";
import { compareFaiss } from "./compare-faiss.ts";
import { type LargeSet, SCALE_FILTERS, type ScaleFilter } from "./data/large-set.ts";
import { PHASES, type Phase, type ScaleOptions } from "./options.ts";
import { askQueries } from "./phases/ask-queries.ts";
import { evictFiles } from "./phases/evict-files.ts";
import { loadSet } from "./phases/loading.ts";
import { NewFilters } from "./phases/new-filters.ts";
import { measureSettled } from "./phases/settled.ts";
import type { OpenedFigures, ScaleFigures, SearchFigures, State } from "./scale-figures.ts";
import { type Running, ServerSession } from "./server-session.ts";

/** Searches under filters that were never asked before. */
const NEW_FILTERS = 60;
/** Unfiltered searches after a start that are measured by themselves. */
const FIRST_QUERIES = 1_000;
/** Files of the index in a data folder; all others are the store. */
const INDEX_FILES = /\.seg$|(?:^|\/)manifest/u;

/** What a phase adds. */
type Added = Partial<ScaleFigures>;

export async function measureScale(set: LargeSet, options: ScaleOptions): Promise<ScaleFigures> {
  const { data } = options;
  const folder = data === null ? await temporaryFolder() : join(data, basename(set.folder));
  await mkdir(folder, { recursive: true });
  const questions = new Questions(set);
  const session = new ServerSession(folder, options.serve, questions.first);
  try {
    return await new Measurement(set, session, questions, options).phases();
  } finally {
    await session.stop();
    if (data === null) await rm(folder, { recursive: true, force: true });
  }
}

/** The requests, made before any clock starts. */
class Questions {
  readonly bodies: Readonly<Record<ScaleFilter, readonly Buffer[]>>;
  readonly truth: Readonly<Record<ScaleFilter, readonly (readonly string[])[]>>;
  readonly #newFilters: NewFilters;

  constructor(set: LargeSet) {
    const bodies = {} as Record<ScaleFilter, Buffer[]>;
    const truth = {} as Record<ScaleFilter, string[][]>;
    for (const filter of SCALE_FILTERS) {
      bodies[filter] = queryBodies(set, filter, ["distances"]);
      truth[filter] = set.truth.nearest[filter].map((rows) => rows.map(recordId));
    }
    this.bodies = bodies;
    this.truth = truth;
    this.#newFilters = new NewFilters(set);
  }

  get first(): { readonly body: Buffer; readonly truth: readonly string[] } {
    return { body: this.bodies.all[0]!, truth: this.truth.all[0]! };
  }

  /** Others at each call. */
  newFilters(): Buffer[] {
    return this.#newFilters.bodies(NEW_FILTERS);
  }
}

class Measurement {
  readonly #set: LargeSet;
  readonly #session: ServerSession;
  readonly #questions: Questions;
  readonly #options: ScaleOptions;

  constructor(set: LargeSet, session: ServerSession, questions: Questions, options: ScaleOptions) {
    this.#set = set;
    this.#session = session;
    this.#questions = questions;
    this.#options = options;
  }

  async phases(): Promise<ScaleFigures> {
    const { name, rows, dimension, truth } = this.#set;
    let figures: ScaleFigures = {
      set: name,
      rows,
      dimension,
      serve: this.#options.serve,
      topCosine: truth.topCosine,
      load: null,
      restSeconds: null,
      searches: {},
      floor: {},
      throughput: null,
      newFiltersSettled: null,
      restarted: null,
      cold: null,
      memory: {},
      foreignCores: {},
      disk: null,
      faiss: null,
    };
    const measure: Readonly<Record<Phase, () => Promise<Added>>> = {
      load: () => this.#load(),
      settled: () => this.#settled(),
      restart: () => this.#restarted("restarted"),
      cold: () => this.#restarted("cold"),
      faiss: () => this.#faiss(),
    };
    for (const phase of PHASES.filter((each) => this.#options.phases.has(each))) {
      console.log(`${new Date().toISOString().slice(11, 19)} ${name}: ${phase}`);
      const [from, before] = [performance.now(), await foreignCpuSeconds()];
      const added = await measure[phase]();
      const cores = (1_000 * ((await foreignCpuSeconds()) - before)) / (performance.now() - from);
      figures = {
        ...figures,
        ...added,
        searches: { ...figures.searches, ...added.searches },
        foreignCores: { ...figures.foreignCores, [phase]: cores },
      };
    }
    await this.#session.close();
    return { ...figures, memory: this.#session.memory.peaks, disk: await diskOf(this.#session.folder) };
  }

  async #load(): Promise<Added> {
    const running = await this.#session.startEmpty("loading");
    const { bodies } = this.#questions;
    const load = await loadSet(this.#set, running.server, running.path, {
      form: this.#options,
      questions: { searches: bodies.all, newFilters: this.#questions.newFilters() },
    });
    const loadedAt = performance.now();
    await this.#session.beginPhase("fresh searches and sealing");
    const fresh = await this.#askAll(running);
    await waitForRest(running.server);
    return { load, searches: { fresh }, restSeconds: (performance.now() - loadedAt) / 1_000 };
  }

  async #settled(): Promise<Added> {
    const running = this.#session.running ?? (await this.#session.open("opening before settled searches"));
    await this.#session.beginPhase("settled searches");
    await waitForRest(running.server);
    const newFiltersSettled = await this.#askNewFilters(running);
    if (this.#options.untimed) {
      return { newFiltersSettled, searches: { settled: await this.#askAll(running) } };
    }
    const { searches, ...others } = await measureSettled(running, this.#questions);
    return { newFiltersSettled, ...others, searches: { settled: searches } };
  }

  async #restarted(state: State & ("restarted" | "cold")): Promise<Added> {
    await this.#session.close();
    const eviction = state === "cold" ? evictFiles(this.#session.folder) : null;
    const startedAt = performance.now();
    const opened = await this.#session.open(`${state}: opening and searches`);
    const { bodies, truth } = this.#questions;
    const all = await askQueries({
      client: opened.server.client,
      path: `${opened.path}/query`,
      bodies: bodies.all,
      truth: truth.all,
      requests: this.#options.untimed ? bodies.all.length : FIRST_QUERIES,
    });
    const newFilters = await this.#askNewFilters(opened);
    const others = await this.#askAll(opened, SCALE_FILTERS.slice(1));
    await waitForRest(opened.server);
    const restSeconds = (performance.now() - startedAt) / 1_000;
    const figures: OpenedFigures = { ...opened.opening, restSeconds, newFilters };
    const searches = { [state]: { all, ...others } };
    return eviction === null
      ? { restarted: figures, searches }
      : { cold: { ...figures, eviction }, searches };
  }

  async #faiss(): Promise<Added> {
    await this.#session.close();
    return { faiss: await compareFaiss(this.#set) };
  }

  /** Every question once. */
  async #askAll(
    { server, path }: Running,
    filters: readonly ScaleFilter[] = SCALE_FILTERS,
  ): Promise<Partial<Record<ScaleFilter, SearchFigures>>> {
    const searches: Partial<Record<ScaleFilter, SearchFigures>> = {};
    const { bodies, truth } = this.#questions;
    for (const filter of filters) {
      const questions = { client: server.client, path: `${path}/query` };
      searches[filter] = await askQueries({ ...questions, bodies: bodies[filter], truth: truth[filter] });
    }
    return searches;
  }

  #askNewFilters({ server, path }: Running): ReturnType<typeof askQueries> {
    return askQueries({
      client: server.client,
      path: `${path}/query`,
      bodies: this.#questions.newFilters(),
    });
  }
}

async function diskOf(folder: string): Promise<{ store: number; index: number }> {
  const isIndex = (path: string): boolean => INDEX_FILES.test(path);
  const index = await folderMebibytes(folder, isIndex);
  return { index, store: (await folderMebibytes(folder)) - index };
}
