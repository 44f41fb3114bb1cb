/** Estimates by FastScan of one loaded query: what `ListProbe` and `CopyScan` share. */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { SCAN, TABLE } from "../../kernels/argument-layouts.generated.ts";
import type { CandidateBuffer } from "./candidate-buffer.ts";
import { CONFIDENCE, type DenseQuery } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { ERROR_PER_FACTOR } from "./sign-code.ts";

/** Of a code, what a check looks at. */
const CHECKED_SHARE = 3 / 8;
/**
 * What the first part of a code says of the rest counts at so many deviations above its value. A row at the edge whose
 * estimate is in the middle of its own deviation is left out by 1 check in 3,000.
 */
const CHECK_CONFIDENCE = 2.5;

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
  /** Few of them are expected to be near, so that blocks are looked at in two steps. */
  readonly areFar?: boolean;
}

export class FastScan {
  readonly #segment: DenseSegment;
  readonly #scan: ArgumentBlock<typeof SCAN>;
  readonly #table: ArgumentBlock<typeof TABLE>;
  /** Bytes of a code: all, and those of a check. */
  readonly #codeBytes: number;
  readonly #checked: number;

  constructor(segment: DenseSegment, candidates: CandidateBuffer) {
    const { memory, at, size, codeBytes } = segment.layout;
    this.#segment = segment;
    this.#scan = memory.block(SCAN);
    this.#table = memory.block(TABLE);
    this.#codeBytes = codeBytes;
    this.#checked = 2 * Math.round((codeBytes * CHECKED_SHARE) / 2);
    setFields(this.#table, { vector: segment.rotation.address, size, table: at.table });
    this.#table.checked = this.#checked * 8;
    setFields(this.#scan, { codeBytes, table: at.table, scratch: at.scratch });
    setFields(this.#scan, { best: candidates.pointer });
  }

  /** Takes the query that is rotated now. */
  load({ length }: DenseQuery): void {
    this.#segment.layout.memory.kernels.buildTable(this.#table.pointer);
    this.#scan.scale = this.#table.scale;
    const error = CONFIDENCE * ERROR_PER_FACTOR * length;
    this.#scan.shift = this.#table.shift + error;
    const parts = this.#codeBytes / this.#checked;
    this.#scan.checkScale = parts * this.#table.scale;
    this.#scan.checkShift =
      parts * this.#table.checkedShift + CHECK_CONFIDENCE * Math.sqrt(parts - 1) * length + error;
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
    this.#scan.checked = rows.areFar === true ? this.#checked : 0;
    this.#segment.layout.memory.kernels.scanBlocks(this.#scan.pointer);
  }
}
