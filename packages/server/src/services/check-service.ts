/**
 * What a search would be refused for, and what it would do, without doing it: no text is embedded and no record is read.
 * Regular expressions are compiled by the engine, in a search whose filter nothing passes.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Embedder } from "@sheaf/inference";
import {
  type Collection,
  type CollectionRef,
  EMBEDDING_KEY,
  type Finding,
  Findings,
  type IndexPlan,
  type Knn,
  LIMITS,
  type Search,
  type SearchCheck,
  SheafError,
  type Where,
  checkKnn,
  checkWhereAgainstSchema,
  indexPlan,
  invalid,
  leafPaths,
  throwIfAborted,
  warnOfSearch,
} from "@sheaf/protocol";
import type { EngineSource } from "../request/engine-source.ts";
import type { RequestBudget } from "../request/request-context.ts";
import { CollectionEmbedder } from "./collection-embedder.ts";
import { EmbeddingFunctions, type EmbeddingParts } from "./embedding-functions.ts";
import { kindOfKey, queryPlan } from "./query-plan.ts";

/** What a `$knn` would do. */
export interface CheckedLeaf {
  readonly path: string;
  readonly key: string;
  readonly kind: "dense" | "sparse";
  readonly limit: number;
  /** Whether the collection has an index for it; a dense one always has. */
  readonly indexed: boolean;
  /** Would embed its text; `null`: it has a vector. */
  readonly model: string | null;
}

/** What one payload would do. */
export interface CheckedSearch {
  readonly leaves: readonly CheckedLeaf[];
  readonly page: { readonly offset: number; readonly limit: number | null };
}

export interface CheckReply {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** One for each payload; `null` for one that has a problem. */
  readonly plans: readonly (CheckedSearch | null)[];
}

const NOTHING: Where = { type: "or", children: [] };

interface Checking {
  readonly collection: Collection;
  readonly index: IndexPlan;
  readonly problems: Findings;
  readonly warnings: Findings;
  readonly embedder: CollectionEmbedder;
}

export class CheckService {
  readonly #engine: EngineSource;
  readonly #embedder: Embedder;
  readonly #functions: EmbeddingFunctions;

  constructor({ engine, embedder, tasks }: EmbeddingParts) {
    this.#engine = engine;
    this.#embedder = embedder;
    this.#functions = new EmbeddingFunctions(embedder, tasks);
  }

  /** Throws 404 for the collection itself. */
  async check(ref: CollectionRef, parsed: SearchCheck, budget: RequestBudget): Promise<CheckReply> {
    const collection = await this.#engine().getCollection(ref);
    const checking: Checking = {
      collection,
      index: indexPlan(collection.schema),
      problems: new Findings(parsed.problems),
      warnings: new Findings(parsed.warnings),
      embedder: new CollectionEmbedder(this.#embedder, collection),
    };
    const plans: (CheckedSearch | null)[] = [];
    for (const [i, search] of parsed.searches.entries()) {
      plans.push(search === null ? null : await this.#checkSearch(search, i, checking));
      await nextTurn();
      throwIfAborted(budget.signal);
    }
    const regexes = await this.#checkRegexes(ref, parsed, { checking, budget });
    for (const i of regexes) plans[i] = null;
    return { problems: checking.problems.list, warnings: checking.warnings.list, plans };
  }

  async #checkSearch(search: Search, i: number, checking: Checking): Promise<CheckedSearch | null> {
    const { collection, problems, warnings } = checking;
    const { schema } = collection;
    const path = `searches[${i}]`;
    let isRefused = false;
    const attempt = async (work: () => unknown): Promise<void> => {
      try {
        await work();
      } catch (error) {
        if (!(error instanceof SheafError)) throw error;
        if (error.code === "model_unavailable") warnings.addError(error, path);
        else problems.addError(error, path);
        isRefused ||= error.code !== "model_unavailable";
      }
    };
    const { where, rank } = search;
    if (where !== null) await attempt(() => checkWhereAgainstSchema(where, schema, `${path}.where`));
    const leaves: CheckedLeaf[] = [];
    for (const { leaf } of rank === null ? [] : leafPaths(rank, path)) {
      if (leaf.type === "knn") await attempt(async () => leaves.push(await this.#planLeaf(leaf, checking)));
    }
    warnOfSearch(search, { schema, path }, warnings);
    return isRefused ? null : { leaves, page: { offset: search.offset, limit: search.limit } };
  }

  async #planLeaf(knn: Knn, { collection, index, embedder }: Checking): Promise<CheckedLeaf> {
    const { key, path, query, limit } = knn;
    checkKnn(knn, collection.schema);
    const { dimension } = collection;
    if (query.type === "dense" && dimension !== null && query.vector.length !== dimension) {
      const problem = `Collection expecting embedding with dimension of ${dimension}, got ${query.vector.length}`;
      throw invalid(`${path}.query`, problem);
    }
    const plan = query.type === "text" ? queryPlan(this.#functions, knn, index) : null;
    const model = plan === null ? null : this.#functions.queryModel(plan);
    if (model !== null) await embedder.requireSameWeights(model);
    const indexed = key === EMBEDDING_KEY || index.sparse.some((sparse) => sparse.key === key);
    return { path, key, kind: kindOfKey(key), limit, indexed, model };
  }

  /** Numbers of the payloads that have a regular expression which the engine refuses. */
  async #checkRegexes(
    ref: CollectionRef,
    { searches }: SearchCheck,
    { checking, budget }: { readonly checking: Checking; readonly budget: RequestBudget },
  ): Promise<readonly number[]> {
    const refused: number[] = [];
    const patterns = searches.map((search) => patternsOf(search?.where ?? null));
    const numbers = [...searches.keys()].filter((i) => patterns[i]!.length > 0);
    // A call with too many is refused before one of them is compiled.
    const isRefused = new Set(patterns.flat()).size > LIMITS.regexPatterns;
    const together = isRefused || numbers.length > 1 ? [numbers] : [];
    const single = isRefused ? [] : numbers.map((i) => [i]);
    for (const group of [...together, ...single]) {
      const problem = await this.#compile(
        ref,
        group.map((i) => searches[i]!),
        budget,
      );
      if (problem === null && group.length > 1) return [];
      if (problem === null) continue;
      checking.problems.add({ path: pathOf(problem), code: problem.code, message: problem.message });
      if (group.length === 1) refused.push(...group);
    }
    return refused;
  }

  async #compile(
    ref: CollectionRef,
    searches: readonly Search[],
    budget: RequestBudget,
  ): Promise<SheafError | null> {
    const dry = searches.map(({ where, select }): Search => {
      const children = [NOTHING, where ?? NOTHING];
      return { where: { type: "and", children }, rank: null, groupBy: null, offset: 0, limit: 1, select };
    });
    try {
      await this.#engine().search(ref, { searches: dry, readLevel: "index_and_wal" }, budget);
      return null;
    } catch (error) {
      if (error instanceof SheafError && error.code === "invalid_argument") return error;
      throw error;
    }
  }
}

function patternsOf(where: Where | null): readonly string[] {
  if (where === null) return [];
  if (where.type === "and" || where.type === "or") return where.children.flatMap(patternsOf);
  return where.type === "document_regex" ? [where.pattern] : [];
}

/** Errors of another process say where only in their words. */
function pathOf({ message }: SheafError): string {
  return /^searches\[\d+\][^:]*(?=: )/u.exec(message)?.[0] ?? "";
}
