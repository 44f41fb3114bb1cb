/** Maximal marginal relevance in the plainest code. */
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
  /** To what was chosen; of a thousand hits all of them anew for every choice would take minutes. */
  const similarities = new Map<Hit, number>();
  const value = (hit: Hit): number => lambda * relevance(hit) - (1 - lambda) * (similarities.get(hit) ?? 0);
  while (left.length > 0 && chosen.length < limit) {
    const values = left.map(value);
    const [choice] = left.splice(values.indexOf(Math.max(...values)), 1);
    chosen.push(choice!);
    for (const hit of left) {
      const alike = 1 - distance("cosine", choice!.record.embedding, hit.record.embedding);
      similarities.set(hit, Math.max(similarities.get(hit) ?? -Infinity, alike));
    }
  }
  return chosen;
}
