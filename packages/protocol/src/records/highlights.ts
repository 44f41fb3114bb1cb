/**
 * Highlights: where a document has what a request looked for. Ranges lie flat, three numbers each: start and end in
 * UTF-16 units, and the bits of what found them. So they cross processes and threads as one typed array.
 */

/** What finds a range; its place here is its bit. */
export const HIGHLIGHT_SOURCES = ["$contains", "$regex", "$knn"] as const;

export type HighlightSource = (typeof HIGHLIGHT_SOURCES)[number];

/** Part of a document, with the highlights in it. */
export interface Snippet {
  readonly text: string;
  /** Where it begins in the document, in UTF-16 units. */
  readonly start: number;
  /** Ranges as in `mergeRanges`, relative to `start`. */
  readonly ranges: Uint32Array;
}

export function sourceBit(source: HighlightSource): number {
  return 1 << HIGHLIGHT_SOURCES.indexOf(source);
}

/**
 * The ranges in the order of the document. Those that overlap become one, found by all that found one of them; those that
 * only touch stay apart. Empty ones are dropped.
 *
 * @param limit Ranges that are kept, the first ones.
 */
export function mergeRanges(ranges: ArrayLike<number>, limit: number): Uint32Array {
  const starts = Array.from({ length: ranges.length / 3 }, (_, i) => 3 * i);
  starts.sort((a, b) => ranges[a]! - ranges[b]! || ranges[a + 1]! - ranges[b + 1]!);
  const merged: number[] = [];
  for (const at of starts) {
    const start = ranges[at]!;
    const end = ranges[at + 1]!;
    if (end <= start) continue;
    const last = merged.length - 3;
    if (last >= 0 && start < merged[last + 1]!) {
      merged[last + 1] = Math.max(merged[last + 1]!, end);
      merged[last + 2]! |= ranges[at + 2]!;
    } else if (merged.length === 3 * limit) break;
    else merged.push(start, end, ranges[at + 2]!);
  }
  return Uint32Array.from(merged);
}

/** As JSON: `[{"start": 4, "end": 9, "by": ["$knn"]}]`. */
export function writeRanges(ranges: Uint32Array): string {
  const items: string[] = [];
  for (let i = 0; i < ranges.length; i += 3)
    items.push(`{"start":${ranges[i]},"end":${ranges[i + 1]},"by":[${sources(ranges[i + 2]!)}]}`);
  return `[${items.join(",")}]`;
}

function sources(bits: number): string {
  return HIGHLIGHT_SOURCES.filter((_, bit) => (bits & (1 << bit)) !== 0)
    .map((source) => `"${source}"`)
    .join(",");
}
