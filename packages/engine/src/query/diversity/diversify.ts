/**
 * The diversity stage, maximal marginal relevance (Carbonell and Goldstein, 1998): of the first 1,000 records of the
 * ranking one is chosen after the other, each time the one with the largest
 *
 *   lambda * relevance - (1 - lambda) * similarity
 *
 * Relevance is where the score lies between those of the pool, in f64: 1 for the lowest finite one, 0 for the highest,
 * 1 for all if they are equal; -Infinity has 1, Infinity and NaN have 0. So scores of every rank weigh as much as
 * similarities. Similarity is the largest to a record chosen before, 0 at first: 1 minus the cosine distance of
 * `kernels/distance.ts`, whatever the space. Ties keep the order of the ranking, and scores stay as they are.
 */
import { ByteBudget, LIMITS, type Mmr, type Space } from "@sheaf/protocol";
import { QueryDistance } from "../../kernels/value-memory.ts";
import type { ValueReading } from "../group/member-order.ts";
import type { Scored } from "../score-order.ts";

const MIB = 1024 * 1024;
/** A pool of the longest vectors has 16 MiB. */
const budget = new ByteBudget({
  what: "vectors that mmr compares",
  perTenant: 64 * MIB,
  whole: 256 * MIB,
});

/** What the vectors of the collection are. */
interface Vectors {
  readonly space: Space;
  readonly dimension: number;
}

/** Those that are chosen, in the order in which they were. Throws 429 and 503 where vectors take too much memory. */
export async function diversify(
  ranked: Scored,
  mmr: Mmr,
  vectors: Vectors,
  reading: ValueReading,
): Promise<Scored> {
  const positions = ranked.positions.subarray(0, LIMITS.mmrPool);
  const scores = ranked.scores.subarray(0, LIMITS.mmrPool);
  const bytes = positions.length * vectors.dimension * Float32Array.BYTES_PER_ELEMENT;
  const lease = budget.charge(reading.pace.tenant, bytes);
  try {
    const units = await unitVectors(positions, vectors, reading);
    const places = await choose(relevances(scores), units, mmr, reading);
    return {
      positions: Int32Array.from(places, (place) => positions[place]!),
      scores: Float32Array.from(places, (place) => scores[place]!),
      isReordered: true,
    };
  } finally {
    lease.release();
  }
}

async function unitVectors(
  positions: Int32Array,
  { space, dimension }: Vectors,
  { view, pace }: ValueReading,
): Promise<Float32Array[]> {
  const all = new Float32Array(positions.length * dimension);
  const units: Float32Array[] = [];
  for (const [place, position] of positions.entries()) {
    const unit = all.subarray(place * dimension, (place + 1) * dimension);
    view.unitVector(position, space, unit);
    units.push(unit);
    if (pace.spend(unit.byteLength)) await pace.breathe();
  }
  return units;
}

function relevances(scores: Float32Array): Float64Array {
  const finite = scores.filter((score) => Number.isFinite(score));
  const best = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const worst = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  return Float64Array.from(scores, (score) => {
    if (Number.isFinite(score)) return worst === best ? 1 : (worst - score) / (worst - best);
    return score === -Infinity ? 1 : 0;
  });
}

/** Places in the pool. */
async function choose(
  relevance: Float64Array,
  units: readonly Float32Array[],
  { lambda, limit }: Mmr,
  { pace }: ValueReading,
): Promise<number[]> {
  const left = Array.from(units.keys());
  const similarity = new Float64Array(units.length);
  const chosen: number[] = [];
  let last: QueryDistance | null = null;
  while (left.length > 0 && chosen.length < limit) {
    let next = 0;
    let most = -Infinity;
    for (const [i, place] of left.entries()) {
      const unit = units[place]!;
      if (last !== null) {
        // Of vectors that have length 1, this is the cosine distance.
        const like = 1 - last.to(unit);
        similarity[place] = chosen.length === 1 ? like : Math.max(similarity[place]!, like);
        if (pace.spend(unit.byteLength)) await pace.breathe();
      }
      const value = lambda * relevance[place]! - (1 - lambda) * similarity[place]!;
      if (value > most) {
        most = value;
        next = i;
      }
    }
    const [place] = left.splice(next, 1);
    chosen.push(place!);
    // A copy: the kernel's memory remembers the last query, and would keep all of them.
    last = new QueryDistance("ip", units[place!]!.slice());
  }
  return chosen;
}
