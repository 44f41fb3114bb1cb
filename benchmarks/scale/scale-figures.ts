/** Everything that was measured on one set. What was not measured is left out or `null`. */
import type { MemoryPeaks } from "../measure/memory-process.ts";
import type { SetName } from "../search/options.ts";
import type { ScaleFilter } from "./data/large-set.ts";
import type { AskedFigures } from "./phases/ask-queries.ts";
import type { Eviction } from "./phases/evict-files.ts";
import type { LoadFigures } from "./phases/loading.ts";
import type { Opening } from "./phases/opening.ts";
import type { FaissComparison } from "./compare-faiss.ts";

/** `fresh`: right after the last write; `settled`: at rest; `restarted`: after a restart; `cold`: with a cold page cache. */
export const STATES = ["fresh", "settled", "restarted", "cold"] as const;
export type State = (typeof STATES)[number];

export interface SearchFigures extends Pick<AskedFigures, "p50" | "p99" | "recall"> {
  /** Where each answer was looked at. */
  readonly max?: number;
  readonly short?: number;
  readonly failures?: AskedFigures["failures"];
}

/** After the start of a process on a loaded folder. */
export interface OpenedFigures extends Opening {
  /** From the start of the process until it rests, the searches included. */
  readonly restSeconds: number;
  readonly newFilters: AskedFigures;
}

export interface ScaleFigures {
  readonly set: SetName;
  readonly rows: number;
  readonly dimension: number;
  readonly serve: readonly string[];
  /** Mean cosine of a query to its nearest record. */
  readonly topCosine: number;
  readonly load: LoadFigures | null;
  /** Seconds from the last write until the server rests, the fresh searches included. */
  readonly restSeconds: number | null;
  readonly searches: Readonly<Partial<Record<State, Partial<Record<ScaleFilter, SearchFigures>>>>>;
  /** p50 of the bare server that reads the same requests, and Sheaf's settled p50 in terms of it. */
  readonly floor: Readonly<Partial<Record<ScaleFilter, { readonly p50: number; readonly ratio: number }>>>;
  /** Requests a second of eight clients, without a filter. */
  readonly throughput: number | null;
  readonly newFiltersSettled: AskedFigures | null;
  readonly restarted: OpenedFigures | null;
  readonly cold: (OpenedFigures & { readonly eviction: Eviction }) | null;
  /** By phase. */
  readonly memory: Readonly<Record<string, MemoryPeaks>>;
  /** Of the machine, what other programs took meanwhile, by phase; the times say little where that is much. */
  readonly foreignCores: Readonly<Record<string, number>>;
  /** MiB on disk after the phases. */
  readonly disk: { readonly store: number; readonly index: number } | null;
  readonly faiss: FaissComparison | null;
}
