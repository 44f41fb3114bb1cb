/** Finds the exact answers among a part of a set's rows, in a process of its own. */
import { answerTasks } from "../../measure/task-process.ts";
import type { FilterName } from "../../search/workload/filters.ts";
import { BLOCK_ROWS, type Found, TruthFinder } from "../../search/workload/ground-truth.ts";
import { type SetFiles, type SetSize, readGroups, readQueries } from "./large-set.ts";
import { VectorFile } from "./vector-file.ts";

export interface TruthTask {
  readonly size: SetSize;
  readonly files: SetFiles;
  readonly filters: readonly FilterName[];
  readonly from: number;
  /** The row after the last. */
  readonly to: number;
}

answerTasks((task): Found<FilterName> => {
  const { size, files, filters, from, to } = task as TruthTask;
  const finder = new TruthFinder(readQueries(size, files), filters);
  const vectors = new VectorFile(files.vectors, size.dimension);
  const groups = readGroups(files.groups);
  for (let row = from; row < to; row += BLOCK_ROWS) {
    const end = Math.min(row + BLOCK_ROWS, to);
    finder.add(row, vectors.readFloats(row, end), groups.subarray(row, end));
  }
  vectors.close();
  return finder.found;
});
