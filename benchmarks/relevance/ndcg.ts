/**
 * Normalised discounted cumulative gain as trec_eval's `ndcg_cut` computes it: the gain of a document is its grade,
 * discounted by log2(position + 1), over the same sum of the best possible order of all judged documents.
 * (Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 20(4), 2002.)
 */

/** `ranking`: document ids, best first. 0 where nothing is relevant; negative grades count as 0. */
export function ndcg(ranking: readonly string[], grades: ReadonlyMap<string, number>, depth: number): number {
  const ideal = discountedGain([...grades.values()].sort((a, b) => b - a).slice(0, depth));
  if (ideal === 0) return 0;
  return discountedGain(ranking.slice(0, depth).map((id) => grades.get(id) ?? 0)) / ideal;
}

function discountedGain(grades: readonly number[]): number {
  return grades.reduce((total, grade, index) => total + Math.max(grade, 0) / Math.log2(index + 2), 0);
}
