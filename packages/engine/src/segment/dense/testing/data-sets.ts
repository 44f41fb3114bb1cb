/**
 * Vectors to measure recall and speed on, made from a seed. `clusters`: 1,000 tight clusters in all directions.
 * `topics`: 200 overlapping topics in 64 latent dimensions with a decaying spectrum, and noise in all of them; the
 * nearest neighbour of a query has a cosine of about 0.72. All vectors have length 1.
 */
import { normalize } from "../../../kernels/distance.ts";

export type DataSet = "clusters" | "topics";

/** An element that is there. */
export function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

export type Random = () => number;

/** Uniform numbers in [0, 1) (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Standard normal numbers (Box and Muller). */
export function gaussOf(random: Random): Random {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

export interface Sampler {
  /** Another vector; `group` is its cluster or topic, a random one if not given. */
  next(group?: number): { readonly vector: Float32Array; readonly group: number };
}

export function sampler(dataSet: DataSet, dimension: number, seed: number): Sampler {
  return dataSet === "clusters" ? clusters(dimension, seed) : topics(dimension, seed);
}

function clusters(dimension: number, seed: number): Sampler {
  const random = randomOf(seed);
  const gauss = gaussOf(random);
  const centres = Array.from({ length: 1_000 }, () => normalize(new Float32Array(dimension).map(gauss)));
  const deviation = 0.6 / Math.sqrt(dimension);
  return {
    next(group = Math.floor(random() * centres.length)) {
      const centre = centres[group] ?? new Float32Array(dimension);
      return { vector: normalize(centre.map((x) => x + deviation * gauss())), group };
    },
  };
}

function topics(dimension: number, seed: number): Sampler {
  const random = randomOf(seed);
  const gauss = gaussOf(random);
  const latent = 64;
  const basis = Array.from({ length: latent }, () => normalize(new Float32Array(dimension).map(gauss)));
  const spectrum = Array.from({ length: latent }, (_, i) => (1 + i) ** -0.35);
  const centres = Array.from({ length: 200 }, () => spectrum.map((s) => s * gauss()));
  const noise = 0.7 / Math.sqrt(dimension);
  return {
    next(group = Math.floor(random() * centres.length)) {
      const vector = new Float32Array(dimension).map(() => noise * gauss());
      const centre = centres[group] ?? [];
      for (const [i, direction] of basis.entries()) {
        const weight = (at(centre, i) + 0.8 * at(spectrum, i) * gauss()) / 2;
        // By index: an iterator here takes ten times as long.
        for (let j = 0; j < dimension; j++) vector[j] = at(vector, j) + weight * at(direction, j);
      }
      return { vector: normalize(vector), group };
    },
  };
}
