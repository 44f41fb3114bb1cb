/**
 * The mean of most vectors. One vector that is a million times as long as the others, by mistake say, moves the plain mean of a
 * thousand so far that vectors relative to it differ in their last bits only. So those that are far from where most are do
 * not count.
 */

/** Vectors that are tried as the middle of the others. */
const TRIED = 8;
/** Vectors that each of these is compared with. */
const COMPARED = 64;
/** Times the median distance. Distances of embeddings differ by a few times, within clusters and between them. */
const FAR = 8;

/** Times the length of the mean: shorter than that is no distance that embeddings differ by. */
const SHORT = 1 / 16;
/** Of the vectors. */
const FEW = 1 / 64;

/** Zeros where there is none, or where it would hide some of the vectors. */
export function typicalMean(vectors: readonly Float32Array[], dimension: number): Float32Array<ArrayBuffer> {
  const sums = new Float64Array(dimension);
  const kept = nearMost(vectors);
  for (const vector of kept) for (let j = 0; j < dimension; j++) sums[j]! += vector[j]!;
  const mean = Float32Array.from(sums, (sum) => (kept.length === 0 ? 0 : sum / kept.length));
  return hides(mean, vectors) ? new Float32Array(dimension) : mean;
}

/**
 * Relative to it, vectors that are much shorter are all the same but for their last bits. A few may be. Vectors of nothing but
 * zeros are no matter: they are the same.
 */
function hides(mean: Float32Array, vectors: readonly Float32Array[]): boolean {
  const short = SHORT ** 2 * squareOf(mean);
  const hidden = vectors.filter((vector) => {
    const square = squareOf(vector);
    return square > 0 && square < short;
  });
  return hidden.length > vectors.length * FEW;
}

function nearMost(vectors: readonly Float32Array[]): readonly Float32Array[] {
  const compared = spread(vectors, COMPARED);
  let middle: Float32Array | null = null;
  let median = Infinity;
  for (const tried of spread(vectors, TRIED)) {
    const distances = Float64Array.from(compared, (vector) => squaredDistance(tried, vector)).sort();
    const half = distances[distances.length >>> 1]!;
    if (middle !== null && half >= median) continue;
    middle = tried;
    median = half;
  }
  if (middle === null) return [];
  const most = FAR ** 2 * median;
  return vectors.filter((vector) => squaredDistance(middle, vector) <= most);
}

/** So many of them at most, from beginning to end. */
function spread(vectors: readonly Float32Array[], most: number): readonly Float32Array[] {
  const step = Math.max(1, vectors.length / most);
  const count = Math.min(most, vectors.length);
  return Array.from({ length: count }, (_, i) => vectors[Math.floor(i * step)]!);
}

function squareOf(vector: Float32Array): number {
  let sum = 0;
  for (const value of vector) sum += value ** 2;
  return sum;
}

/** In f64, as the vectors may be of any length up to that which codes take. */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum;
}
