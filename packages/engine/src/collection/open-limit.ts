/** How many collections may be open at once: an open LMDB environment costs three file descriptors and three maps. */
import { readFileSync } from "node:fs";

const MOST_OPEN = 1_000;
/** Share of the descriptors that stores may use up. */
const DESCRIPTORS_PER_STORE = 8;
/** Where the limit cannot be read: the default of most systems. */
const DEFAULT_DESCRIPTORS = 1_024;

export function maxOpenCollections(): number {
  return Math.max(1, Math.min(MOST_OPEN, Math.floor(descriptorLimit() / DESCRIPTORS_PER_STORE)));
}

function descriptorLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit === "unlimited") return Number.POSITIVE_INFINITY;
    return limit === undefined ? DEFAULT_DESCRIPTORS : Number(limit);
  } catch {
    // Not Linux.
    return DEFAULT_DESCRIPTORS;
  }
}
