/** Plain twin of `assembly/candidates.ts`: the best candidates so far, higher score first, then lower id. */
import { type ArgumentBlock, blockAt } from "../argument-block.ts";
import { CANDIDATES } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

/** Adds one; the caller has made room. */
export function push(views: Views, best: ArgumentBlock<typeof CANDIDATES>, id: number, score: number): void {
  const count = best.count;
  views.u32[(best.ids >>> 2) + count] = id;
  views.f32[(best.scores >>> 2) + count] = score;
  best.count = count + 1;
}

/** Makes room for 32 more and raises the threshold if there is none. */
export function makeRoom(views: Views, pointer: number): void {
  const best = blockAt(CANDIDATES, views, pointer);
  if (best.count + 32 > best.capacity) keepBest(views, pointer);
}

export function keepBest(views: Views, pointer: number): void {
  const best = blockAt(CANDIDATES, views, pointer);
  const keep = best.keep;
  const count = best.count;
  if (count <= keep) return;
  const firstId = best.ids >>> 2;
  const firstScore = best.scores >>> 2;
  const ids = views.u32.subarray(firstId, firstId + count);
  const scores = views.f32.subarray(firstScore, firstScore + count);
  select(ids, scores, keep);
  best.count = keep;
  best.threshold = scores.subarray(0, keep).reduce((last, score) => Math.min(last, score));
}

/** Hoare's selection, with the pivots and exchanges of the kernel. */
function select(ids: Uint32Array, scores: Float32Array, keep: number): void {
  const compare = (index: number, id: number, score: number): number => {
    if (scores[index]! !== score) return scores[index]! > score ? -1 : 1;
    return ids[index]! - id;
  };
  let low = 0;
  let high = ids.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const id = ids[middle]!;
    const score = scores[middle]!;
    let i = low;
    let j = high;
    while (i <= j) {
      while (compare(i, id, score) < 0) i++;
      while (compare(j, id, score) > 0) j--;
      if (i <= j) {
        [ids[i], ids[j]] = [ids[j]!, ids[i]!];
        [scores[i], scores[j]] = [scores[j]!, scores[i]!];
        i++;
        j--;
      }
    }
    if (keep - 1 <= j) high = j;
    else if (keep - 1 >= i) low = i;
    else break;
  }
}
