/** Estimates by FastScan of one loaded query: what `ListProbe` and `CopyScan` share. */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { SCAN, TABLE } from "../../kernels/argument-layouts.generated.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import { CONFIDENCE, type DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { ERROR_PER_FACTOR } from "./sign-code.ts";

/** Rows in blocks of 32: byte addresses, as in `assembly/scan-blocks.ts`. */
export interface ScannedBlocks {
  readonly codes: number;
  readonly blocks: number;
  readonly factors: number;
  readonly biases: number;
  readonly masks: number;
  readonly firstId: number;
  /** Added to the score of every row. */
  readonly base: number;
}

export class FastScan {
  readonly #segment: DenseSegment;
  readonly #scan: ArgumentBlock<typeof SCAN>;
  readonly #table: ArgumentBlock<typeof TABLE>;

  constructor(segment: DenseSegment, candidates: CandidateBuffer) {
    const { memory, at, size, codeBytes } = segment.layout;
    this.#segment = segment;
    this.#scan = memory.block(SCAN);
    this.#table = memory.block(TABLE);
    setFields(this.#table, { vector: segment.rotation.address, size, table: at.table });
    setFields(this.#scan, { codeBytes, table: at.table, scratch: at.scratch });
    setFields(this.#scan, { best: candidates.pointer });
  }

  /** Takes the query that is rotated now. */
  load({ length }: DenseQuery): void {
    this.#segment.layout.memory.kernels.buildTable(this.#table.pointer);
    this.#scan.scale = this.#table.scale;
    this.#scan.shift = this.#table.shift + CONFIDENCE * ERROR_PER_FACTOR * length;
  }

  /** Adds the rows whose estimate is above the threshold to the candidates. */
  run(rows: ScannedBlocks): void {
    this.#scan.codes = rows.codes;
    this.#scan.blocks = rows.blocks;
    this.#scan.factors = rows.factors;
    this.#scan.biases = rows.biases;
    this.#scan.masks = rows.masks;
    this.#scan.firstId = rows.firstId;
    this.#scan.base = rows.base;
    this.#segment.layout.memory.kernels.scanBlocks(this.#scan.pointer);
  }
}
