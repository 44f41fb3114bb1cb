/** The two directions in which vectors differ most, by power iteration (Pearson, 1901), and where each vector lies along them. */

const ROUNDS = 30;
/** So many vectors say what the directions are. */
const SAMPLE = 2_000;

/** @param vectors All of `dimension` numbers, one behind the other. Gives x and y of each, one behind the other. */
export function principalAxes(vectors: Float32Array, dimension: number): Float32Array {
  const count = vectors.length / dimension;
  const mean = meanOf(vectors, dimension);
  const step = Math.max(1, Math.floor(count / SAMPLE));
  const axes: Float64Array[] = [];
  for (let axis = 0; axis < 2; axis++)
    axes.push(strongest(vectors, { dimension, mean, step, without: axes }));
  const places = new Float32Array(2 * count);
  for (let i = 0; i < count; i++) {
    for (const [axis, direction] of axes.entries())
      places[2 * i + axis] = along(vectors, i * dimension, mean, direction);
  }
  return places;
}

interface Search {
  readonly dimension: number;
  readonly mean: Float64Array;
  /** Every so many vectors one is looked at. */
  readonly step: number;
  readonly without: readonly Float64Array[];
}

function strongest(vectors: Float32Array, { dimension, mean, step, without }: Search): Float64Array {
  // Any start will do that is not at right angles to the direction; the same one each time gives the same map.
  let direction = Float64Array.from({ length: dimension }, (_, i) => Math.sin(i + 1 + without.length));
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Float64Array(dimension);
    for (let at = 0; at < vectors.length; at += step * dimension) {
      const length = along(vectors, at, mean, direction);
      for (let i = 0; i < dimension; i++) next[i]! += length * (vectors[at + i]! - mean[i]!);
    }
    for (const known of without) {
      const overlap = dot(next, known);
      for (let i = 0; i < dimension; i++) next[i]! -= overlap * known[i]!;
    }
    const length = Math.sqrt(dot(next, next));
    if (length === 0) break;
    direction = next.map((value) => value / length);
  }
  return direction;
}

function meanOf(vectors: Float32Array, dimension: number): Float64Array {
  const mean = new Float64Array(dimension);
  for (const [i, value] of vectors.entries()) mean[i % dimension]! += value;
  return mean.map((sum) => (sum * dimension) / vectors.length);
}

function along(vectors: Float32Array, at: number, mean: Float64Array, direction: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < direction.length; i++) sum += (vectors[at + i]! - mean[i]!) * direction[i]!;
  return sum;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (const [i, value] of a.entries()) sum += value * b[i]!;
  return sum;
}
