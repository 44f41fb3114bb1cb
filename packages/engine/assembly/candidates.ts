/**
 * The best candidates so far: two parallel buffers and a threshold that rises. Order: higher score first, then lower
 * id, so which candidates survive never depends on the order they came in.
 */

@unmanaged
export class Candidates {
  count: u32;
  /** Only scores above it are taken; the caller starts it at -Infinity or at what is known already. */
  threshold: f32;
  /** How many survive when the buffers are full. */
  keep: u32;
  /** Entries the buffers hold; at least `keep` + 32. */
  capacity: u32;
  ids: usize;
  scores: usize;
}

export function push(best: Candidates, id: u32, score: f32): void {
  const at = (<usize>best.count) << 2;
  store<u32>(best.ids + at, id);
  store<f32>(best.scores + at, score);
  best.count++;
}

/** Makes room for 32 more and raises the threshold if there is none. */
export function makeRoom(best: Candidates): void {
  if (best.count + 32 > best.capacity) keepBest(changetype<usize>(best));
}

/** Moves the best `keep` candidates to the front, in no order, and raises the threshold to the last of them. */
export function keepBest(pointer: usize): void {
  const best = changetype<Candidates>(pointer);
  const keep = <i32>best.keep;
  if (<i32>best.count <= keep) return;
  const ids = best.ids;
  const scores = best.scores;
  let low: i32 = 0;
  let high: i32 = <i32>best.count - 1;
  // Hoare's selection: after each turn all before `low` beat all after `high`.
  while (low < high) {
    const middle = (low + high) >> 1;
    const pivotId = idAt(ids, middle);
    const pivot = scoreAt(scores, middle);
    let i = low;
    let j = high;
    while (i <= j) {
      while (beats(scoreAt(scores, i), idAt(ids, i), pivot, pivotId)) i++;
      while (beats(pivot, pivotId, scoreAt(scores, j), idAt(ids, j))) j--;
      if (i <= j) {
        swap(ids, i, j);
        swap(scores, i, j);
        i++;
        j--;
      }
    }
    if (keep - 1 <= j) high = j;
    else if (keep - 1 >= i) low = i;
    else break;
  }
  let last = load<f32>(scores);
  for (let i = 1; i < keep; i++) last = min(last, scoreAt(scores, i));
  best.count = best.keep;
  best.threshold = last;
}

function scoreAt(scores: usize, index: i32): f32 {
  return load<f32>(scores + ((<usize>index) << 2));
}

function idAt(ids: usize, index: i32): u32 {
  return load<u32>(ids + ((<usize>index) << 2));
}

function beats(score: f32, id: u32, otherScore: f32, otherId: u32): bool {
  return score > otherScore || (score == otherScore && id < otherId);
}

function swap(base: usize, i: i32, j: i32): void {
  const first = base + ((<usize>i) << 2);
  const second = base + ((<usize>j) << 2);
  const value = load<u32>(first);
  store<u32>(first, load<u32>(second));
  store<u32>(second, value);
}
