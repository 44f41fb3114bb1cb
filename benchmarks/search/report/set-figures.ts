/** Everything that was measured on one set. */
import type { Contender, RowFigures } from "../measured-row.ts";
import type { SetName } from "../options.ts";

/** One figure per contender. */
export type Cells = Partial<Record<Contender, number>>;

export interface SetFigures {
  readonly set: SetName;
  readonly rows: number;
  readonly dimension: number;
  /** Mean cosine of a query to its nearest record. */
  readonly topCosine: number;
  /** Requests one after the other, by row. */
  readonly latency: Readonly<Record<string, RowFigures>>;
  /** Requests a second with eight clients, by row. */
  readonly throughput: Readonly<Record<string, Cells>>;
  /** Records a second in batches of 1,000. */
  readonly insert: Cells;
  /** Of Sheaf: embeddings as base64, and with sparse vectors as well. */
  readonly insertBase64: number | null;
  readonly insertSparse: number | null;
  /** Seconds from the last write until nothing is built in the background any more. */
  readonly settle: Cells;
  /** MiB. */
  readonly memoryAfterLoad: Cells;
  readonly memoryAfterQueries: Cells;
  /** Of Sheaf with sparse vectors as well, after queries. */
  readonly memorySparse: number | null;
  readonly disk: Cells;
  /** Milliseconds from the start of the process to the first answer. */
  readonly restart: Cells;
}
