/**
 * The plain twin of every WASM kernel: the same argument blocks, the same memory, the same bits. It is the oracle of
 * the kernels in tests and runs where no further WASM memory can be had.
 */
import type { Kernels } from "../kernels.ts";
import { keepBest } from "./candidates.ts";
import { compareVector } from "./compare.ts";
import { copyCodes } from "./copy-codes.ts";
import { addFrequencies, addPostings, boundSums, collectSums, countPostings } from "./postings.ts";
import { scoreMagnitudes } from "./magnitudes.ts";
import { addWords, nearestCentroids, toWords } from "./nearest.ts";
import { encodeNibbles, refineCandidates } from "./nibbles.ts";
import { placeVector } from "./place.ts";
import { rotate } from "./rotate.ts";
import { dotHalfRows, dotRows, dotWholeRow, readFloats } from "./rows.ts";
import { addBases, scanBlocks } from "./scan-blocks.ts";
import { scoreCodes } from "./score-codes.ts";
import { scoreCentroids } from "./centroids.ts";
import { crc32c } from "./checksum.ts";
import { buildTable } from "./table.ts";
import type { Views } from "./views.ts";

export function createPlainKernels(buffer: ArrayBuffer): Kernels {
  const views: Views = {
    u8: new Uint8Array(buffer),
    u16: new Uint16Array(buffer),
    u32: new Uint32Array(buffer),
    f32: new Float32Array(buffer),
  };
  return {
    dotRows: (pointer) => dotRows(views, pointer),
    dotHalfRows: (pointer) => dotHalfRows(views, pointer),
    dotWholeRow: (pointer) => dotWholeRow(views, pointer),
    readFloats: (pointer) => readFloats(views, pointer),
    scanBlocks: (pointer) => scanBlocks(views, pointer),
    addBases: (pointer) => addBases(views, pointer),
    buildTable: (pointer) => buildTable(views, pointer),
    scoreCentroids: (pointer) => scoreCentroids(views, pointer),
    toWords: (pointer) => toWords(views, pointer),
    nearestCentroids: (pointer) => nearestCentroids(views, pointer),
    addWords: (pointer) => addWords(views, pointer),
    placeVector: (pointer) => placeVector(views, pointer),
    scoreCodes: (pointer) => scoreCodes(views, pointer),
    copyCodes: (pointer) => copyCodes(views, pointer),
    encodeNibbles: (pointer) => encodeNibbles(views, pointer),
    refineCandidates: (pointer) => refineCandidates(views, pointer),
    scoreMagnitudes: (pointer) => scoreMagnitudes(views, pointer),
    keepBest: (pointer) => keepBest(views, pointer),
    rotate: (pointer) => rotate(views, pointer),
    crc32c: (pointer) => crc32c(views, pointer),
    compareVector: (pointer) => compareVector(views, pointer),
    addPostings: (pointer) => addPostings(views, pointer),
    addFrequencies: (pointer) => addFrequencies(views, pointer),
    countPostings: (pointer) => countPostings(views, pointer),
    boundSums: (pointer) => boundSums(views, pointer),
    collectSums: (pointer) => collectSums(views, pointer),
  };
}
