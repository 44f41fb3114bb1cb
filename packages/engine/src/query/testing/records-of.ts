/** All lists of a read, whole: what tests and measurements compare. */
import type { ResultRecord } from "@sheaf/protocol";
import { type StartedRead, executeNext } from "../execute.ts";

/** @param between Called after each batch that others follow. */
export async function recordsOf(
  started: Promise<StartedRead>,
  between: () => void = () => {},
): Promise<ResultRecord[][]> {
  const { first, rest } = await started;
  const lists: ResultRecord[][] = [];
  for (let batch = first; ;) {
    for (const [i, records] of batch.lists.entries()) (lists[batch.first + i] ??= []).push(...records);
    if (rest === null || rest.reader.isDone) break;
    between();
    batch = await executeNext(rest);
  }
  rest?.ticket.close();
  return lists;
}
