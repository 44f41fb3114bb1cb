/**
 * A set of records of any size with queries and exact answers: the vectors of `benchmarks/search` by the same sampler,
 * in files. It is made once and kept in the system's folder for temporary files.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { sampler } from "../../../packages/engine/src/segment/dense/testing/data-sets.ts";
import { TaskProcess } from "../../measure/task-process.ts";
import type { SetName } from "../../search/options.ts";
import {
  type Found,
  type Queries,
  type Truth,
  mergeFound,
  truthOf,
} from "../../search/workload/ground-truth.ts";
import type { TruthTask } from "./truth-process.ts";
import { VectorFile, writeVectorFile } from "./vector-file.ts";

const SEED = 1;
/** Rises with every change that makes other records, queries or answers. */
const VERSION = 1;

const SET_CACHE = join(tmpdir(), "sheaf-bench-scale");

/** `all`: none. The others keep 50 %, 5 %, 0.1 %, and 5 % that are all far from the query. */
export const SCALE_FILTERS = ["all", "half", "f5", "f01", "adversarial"] as const;
export type ScaleFilter = (typeof SCALE_FILTERS)[number];

export interface SetSize {
  readonly rows: number;
  readonly dimension: number;
  readonly queries: number;
}

export interface SetFiles {
  /** See `VectorFile`. */
  readonly vectors: string;
  /** Cluster or topic of each row, u16. */
  readonly groups: string;
  readonly queryVectors: string;
  readonly queryGroups: string;
}

export interface LargeSet extends SetSize, Queries {
  readonly name: SetName;
  readonly groups: Uint16Array;
  readonly truth: Truth<ScaleFilter>;
  readonly files: SetFiles;
  /** Where what a peer made of these records may be kept. */
  readonly folder: string;
}

/** @param cache The folder of all sets. */
export async function largeSet(name: SetName, size: SetSize, cache = SET_CACHE): Promise<LargeSet> {
  const { rows, dimension, queries } = size;
  const folder = join(cache, `${name}-${rows}x${dimension}-v${VERSION}`);
  mkdirSync(folder, { recursive: true });
  const files = {
    vectors: join(folder, "vectors"),
    groups: join(folder, "groups"),
    queryVectors: join(folder, `query-vectors-${queries}`),
    queryGroups: join(folder, `query-groups-${queries}`),
  };
  if (!existsSync(files.queryGroups)) {
    console.log(`Making ${rows} x ${dimension} (${name}) in ${folder}…`);
    makeVectors(name, size, files);
  }
  const truthFile = join(folder, `truth-${queries}.json`);
  if (!existsSync(truthFile)) {
    console.log("Finding the exact answers…");
    const truth = await findTruth(size, files);
    writeFileSync(`${truthFile}.part`, JSON.stringify(truth));
    renameSync(`${truthFile}.part`, truthFile);
  }
  return {
    ...size,
    ...readQueries(size, files),
    name,
    groups: readGroups(files.groups),
    truth: JSON.parse(readFileSync(truthFile, "utf8")) as Truth<ScaleFilter>,
    files,
    folder,
  };
}

export function readQueries({ dimension, queries }: SetSize, files: SetFiles): Queries {
  const file = new VectorFile(files.queryVectors, dimension);
  try {
    return {
      dimension,
      queries,
      queryVectors: file.readFloats(0, queries),
      queryGroups: readGroups(files.queryGroups),
    };
  } finally {
    file.close();
  }
}

export function readGroups(path: string): Uint16Array {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  return new Uint16Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

/** The file that is written last says that all are there. */
function makeVectors(name: SetName, { rows, dimension, queries }: SetSize, files: SetFiles): void {
  const source = sampler(name, dimension, SEED);
  const draw = (count: number, vectors: string, groups: string): void => {
    const of = new Uint16Array(count);
    let row = 0;
    writeVectorFile(vectors, count, () => {
      const { vector, group } = source.next();
      of[row++] = group;
      return vector;
    });
    writeFileSync(groups, of);
  };
  draw(rows, files.vectors, files.groups);
  draw(queries, files.queryVectors, files.queryGroups);
}

/** Each core compares the queries with a part of the rows. */
async function findTruth(size: SetSize, files: SetFiles): Promise<Truth<ScaleFilter>> {
  const parts = availableParallelism();
  const found = await Promise.all(
    Array.from({ length: parts }, async (_, part) => {
      const from = Math.floor((part * size.rows) / parts);
      const to = Math.floor(((part + 1) * size.rows) / parts);
      const finder = new TaskProcess(new URL("./truth-process.ts", import.meta.url));
      const task: TruthTask = { size, files, filters: SCALE_FILTERS, from, to };
      try {
        return await finder.ask<Found<ScaleFilter>>(task);
      } finally {
        await finder.stop();
      }
    }),
  );
  return truthOf(found.reduce(mergeFound));
}
