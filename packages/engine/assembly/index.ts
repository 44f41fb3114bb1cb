/**
 * Kernels of the search engine, AssemblyScript compiled to WASM SIMD by `scripts/build-kernels.mjs`.
 *
 * No runtime, no allocation, no data of their own: each kernel takes one pointer to its argument block and works on
 * the imported memory. The blocks are the `@unmanaged` classes; their fields are 32 bits each.
 * `src/kernels/plain/` holds a twin of every kernel that must give the same bits in the whole memory.
 */
export { dotRows, dotHalfRows, dotWholeRow, readFloats } from "./rows";
export { scanBlocks, addBases } from "./scan-blocks";
export { buildTable } from "./table";
export { scoreCentroids } from "./centroids";
export { toWords, nearestCentroids, addWords } from "./nearest";
export { placeVector } from "./place";
export { scoreCodes } from "./score-codes";
export { copyCodes } from "./copy-codes";
export { encodeNibbles, refineCandidates } from "./nibbles";
export { scoreMagnitudes } from "./magnitudes";
export { keepBest } from "./candidates";
export { crc32c } from "./checksum";
export { compareVector } from "./compare";
export { rotate } from "./rotate";
export { addPostings, addFrequencies, countPostings, boundSums, collectSums } from "./postings";
