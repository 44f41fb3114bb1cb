/** Maximal marginal relevance in the plainest code: every value is computed anew for every choice. */
import type { Mmr } from "@sheaf/protocol";
import { distance } from "../../kernels/distance.ts";
import type { StoredRecord } from "../../storage/stored-record.ts";

const POOL = 1_000;

interface Hit {
  readonly record: StoredRecord;
  readonly score: number;
}

/** @param hits Best first. */
export function oracleMmr(hits: readonly Hit[], { lambda, limit }: Mmr): Hit[] {
  const left = hits.slice(0, POOL);
  const finite = left.map(({ score }) => score).filter(Number.isFinite);
  const [best, worst] = [Math.min(...finite), Math.max(...finite)];
  const relevance = ({ score }: Hit): number => {
    if (!Number.isFinite(score)) return score === -Infinity ? 1 : 0;
    return best === worst ? 1 : (worst - score) / (worst - best);
  };
  const chosen: Hit[] = [];
  const value = (hit: Hit): number => {
    const likes = chosen.map((other) => 1 - distance("cosine", other.record.embedding, hit.record.embedding));
    const similarity = likes.length === 0 ? 0 : Math.max(...likes);
    return lambda * relevance(hit) - (1 - lambda) * similarity;
  };
  while (left.length > 0 && chosen.length < limit) {
    const values = left.map(value);
    const place = values.indexOf(Math.max(...values));
    chosen.push(...left.splice(place, 1));
  }
  return chosen;
}
