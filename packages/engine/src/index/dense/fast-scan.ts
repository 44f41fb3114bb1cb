/** Estimates by FastScan of one loaded query: what `ListProbe` and `CopyScan` share. */
import { type ArgumentBlock, SCAN, TABLE } from "../../kernels/arguments.ts";
import { setFields } from "../../kernels/kernel-memory.ts";
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
  readonly #scan: ArgumentBlock;
  readonly #table: ArgumentBlock;

  constructor(segment: DenseSegment, candidates: CandidateBuffer) {
    const { memory, at, size, codeBytes } = segment.layout;
    this.#segment = segment;
    this.#scan = memory.block(SCAN.words);
    this.#table = memory.block(TABLE.words);
    setFields(this.#table, TABLE, { vector: segment.rotation.address, size, table: at.table });
    setFields(this.#scan, SCAN, { codeBytes, table: at.table, scratch: at.scratch });
    setFields(this.#scan, SCAN, { best: candidates.pointer });
  }

  /** Takes the query that is rotated now. */
  load({ length }: DenseQuery): void {
    const { f32, pointer } = this.#table;
    this.#segment.layout.memory.kernels.buildTable(pointer);
    this.#scan.f32[SCAN.scale] = f32[TABLE.scale]!;
    this.#scan.f32[SCAN.shift] = f32[TABLE.shift]! + CONFIDENCE * ERROR_PER_FACTOR * length;
  }

  /** Adds the rows whose estimate is above the threshold to the candidates. */
  run(rows: ScannedBlocks): void {
    const { u32, f32, pointer } = this.#scan;
    u32[SCAN.codes] = rows.codes;
    u32[SCAN.blocks] = rows.blocks;
    u32[SCAN.factors] = rows.factors;
    u32[SCAN.biases] = rows.biases;
    u32[SCAN.masks] = rows.masks;
    u32[SCAN.firstId] = rows.firstId;
    f32[SCAN.base] = rows.base;
    this.#segment.layout.memory.kernels.scanBlocks(pointer);
  }
}
