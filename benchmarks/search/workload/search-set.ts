/**
 * A seeded set of records and queries with the exact answers, kept in a cache folder from run to run. `clusters`: 1,000
 * tight clusters. `topics`: 200 overlapping topics in 64 latent dimensions with a decaying spectrum, and noise.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampler } from "../../../packages/engine/src/segment/dense/testing/data-sets.ts";
import { type Truth, findTruth } from "./ground-truth.ts";
import type { SetName } from "../options.ts";

const SEED = 1;
/** Rises with every change that makes other records, queries or answers. */
const VERSION = 1;
const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/bench-search", import.meta.url));

export interface SetSize {
  readonly rows: number;
  readonly dimension: number;
  readonly queries: number;
}

export interface SearchSet extends SetSize {
  readonly name: SetName;
  /** Vectors of length 1, row after row. */
  readonly vectors: Float32Array;
  /** Cluster or topic of each row. */
  readonly groups: Uint16Array;
  readonly queryVectors: Float32Array;
  readonly queryGroups: Uint16Array;
  readonly truth: Truth;
  /** Where what a peer made of these records may be kept. */
  readonly folder: string;
  /** Where the arrays are, little-endian. */
  readonly files: Readonly<Record<keyof Vectors, string>>;
}

/** Made in about a minute for 100,000 rows, read in a second after that. */
export function searchSet(name: SetName, size: SetSize): SearchSet {
  const { rows, dimension, queries } = size;
  const folder = join(CACHE, `${name}-${rows}x${dimension}-v${VERSION}`);
  mkdirSync(folder, { recursive: true });
  const perQuery = (part: string): string => join(folder, `${part}-${queries}`);
  const files = {
    vectors: join(folder, "vectors"),
    groups: join(folder, "groups"),
    queryVectors: perQuery("query-vectors"),
    queryGroups: perQuery("query-groups"),
  };
  const truth = perQuery("truth.json");
  if (!existsSync(truth)) {
    console.log(`Making ${rows} records (${name}) and the exact answers…`);
    const made = makeVectors(name, size);
    for (const part of Object.keys(files) as (keyof Vectors)[]) writeFileSync(files[part], made[part]);
    writeFileSync(truth, JSON.stringify(findTruth({ ...size, ...made })));
  }
  return {
    ...size,
    name,
    vectors: new Float32Array(bytesOf(files.vectors)),
    groups: new Uint16Array(bytesOf(files.groups)),
    queryVectors: new Float32Array(bytesOf(files.queryVectors)),
    queryGroups: new Uint16Array(bytesOf(files.queryGroups)),
    truth: JSON.parse(readFileSync(truth, "utf8")) as Truth,
    folder,
    files,
  };
}

export function vectorOf(vectors: Float32Array, position: number, dimension: number): Float32Array {
  return vectors.subarray(position * dimension, (position + 1) * dimension);
}

type Vectors = Pick<SearchSet, "vectors" | "groups" | "queryVectors" | "queryGroups">;

function makeVectors(name: SetName, { rows, dimension, queries }: SetSize): Vectors {
  const source = sampler(name, dimension, SEED);
  const draw = (count: number): { vectors: Float32Array; groups: Uint16Array } => {
    const vectors = new Float32Array(count * dimension);
    const groups = new Uint16Array(count);
    for (let i = 0; i < count; i++) {
      const { vector, group } = source.next();
      vectors.set(vector, i * dimension);
      groups[i] = group;
    }
    return { vectors, groups };
  };
  const records = draw(rows);
  const asked = draw(queries);
  return { ...records, queryVectors: asked.vectors, queryGroups: asked.groups };
}

function bytesOf(path: string): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  return buffer.slice(byteOffset, byteOffset + byteLength);
}
