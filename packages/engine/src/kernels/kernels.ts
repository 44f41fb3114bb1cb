/** The kernels that `assembly/` compiles to, each with the layout of its argument block. */
import type { BlockPointer } from "./argument-block.ts";
import type {
  BASES,
  CANDIDATES,
  CENTROIDS,
  CHECKSUM,
  CODES,
  COMPARE,
  COPY,
  ENCODE,
  FLOATS,
  MAGNITUDES,
  NEAREST,
  PLACE,
  POSTINGS,
  REFINE,
  ROTATE,
  ROWS,
  SCAN,
  SUM,
  SUMS,
  TABLE,
  WHOLE,
  WORDS,
} from "./argument-layouts.generated.ts";

/** What follows the code in a row's record, as indexes of 32-bit words; see `assembly/score-codes.ts`. */
export const RECORD = { factor: 0, bias: 1, list: 2, bits: 3 } as const;

export const RECORD_BYTES = 4 * Object.keys(RECORD).length;

/** What follows the bits of a row's magnitudes; see `assembly/magnitudes.ts`. */
export const MAGNITUDE = { factor: 0, error: 1 } as const;

export const MAGNITUDE_BYTES = 4 * Object.keys(MAGNITUDE).length;

/** Every kernel takes the address of its argument block and works on the memory it was made with. */
export interface Kernels {
  /** f32 dot products of a query with rows. */
  readonly dotRows: (rows: BlockPointer<typeof ROWS>) => void;
  /** f32 dot products of a reordered query with bf16 rows; see `reorderForHalves`. */
  readonly dotHalfRows: (rows: BlockPointer<typeof ROWS>) => void;
  readonly dotWholeRow: (whole: BlockPointer<typeof WHOLE>) => void;
  /** The f32 of a row in halves. */
  readonly readFloats: (floats: BlockPointer<typeof FLOATS>) => void;
  /** FastScan over blocks of 32 rows. */
  readonly scanBlocks: (scan: BlockPointer<typeof SCAN>) => void;
  /** Adds the base of its list to the bias of each row. */
  readonly addBases: (bases: BlockPointer<typeof BASES>) => void;
  /** What FastScan adds up for a rotated query. */
  readonly buildTable: (table: BlockPointer<typeof TABLE>) => void;
  /** f32 dot products of a query with centroids of 8-bit elements. */
  readonly scoreCentroids: (centroids: BlockPointer<typeof CENTROIDS>) => void;
  /** Brings vectors to 16 bits, in the order in which `nearestCentroids` takes them. */
  readonly toWords: (words: BlockPointer<typeof WORDS>) => void;
  /** For each of some vectors the centroid at the least Euclidean distance. */
  readonly nearestCentroids: (nearest: BlockPointer<typeof NEAREST>) => void;
  /** Adds a vector in 16 bits to sums. */
  readonly addWords: (sum: BlockPointer<typeof SUM>) => void;
  /** Makes halves and code of a vector in its slot. */
  readonly placeVector: (place: BlockPointer<typeof PLACE>) => void;
  /** Estimated scores of single rows. */
  readonly scoreCodes: (codes: BlockPointer<typeof CODES>) => void;
  /** Copies the 1-bit codes of single rows to blocks for FastScan. */
  readonly copyCodes: (copy: BlockPointer<typeof COPY>) => void;
  /** Makes 4-bit codes of rows. */
  readonly encodeNibbles: (encode: BlockPointer<typeof ENCODE>) => void;
  /** Scores candidates by their 4-bit codes. */
  readonly refineCandidates: (refine: BlockPointer<typeof REFINE>) => void;
  /** Scores candidates by the 3 bits of their codes and magnitudes. */
  readonly scoreMagnitudes: (magnitudes: BlockPointer<typeof MAGNITUDES>) => void;
  /** Cuts candidates down to the best. */
  readonly keepBest: (candidates: BlockPointer<typeof CANDIDATES>) => void;
  /** Rotates one vector in place. */
  readonly rotate: (rotate: BlockPointer<typeof ROTATE>) => void;
  /** Adds the posting lists of a sparse query's terms. */
  readonly addPostings: (postings: BlockPointer<typeof POSTINGS>) => void;
  /** The same of values that are term frequencies, which saturate by the length of the document. */
  readonly addFrequencies: (postings: BlockPointer<typeof POSTINGS>) => void;
  /** Continues a CRC-32C over some bytes. */
  readonly crc32c: (checksum: BlockPointer<typeof CHECKSUM>) => void;
  /** Distance of a query to one vector as it was given. */
  readonly compareVector: (compare: BlockPointer<typeof COMPARE>) => void;
  /** Counts the rows that hold each of a sparse query's terms. */
  readonly countPostings: (postings: BlockPointer<typeof POSTINGS>) => void;
  /** Finds a bound that as many rows as are wanted reach. */
  readonly boundSums: (sums: BlockPointer<typeof SUMS>) => void;
  /** Collects the rows within a bound and clears their sums. */
  readonly collectSums: (sums: BlockPointer<typeof SUMS>) => void;
}
