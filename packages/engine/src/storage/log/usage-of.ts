/** What a view has, counted from its records. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Usage } from "../usage.ts";
import type { LogView } from "./log-view.ts";

/** In one turn. */
const COUNTED_AT_ONCE = 256;

/** Goes through all records. */
export async function usageOf(view: LogView): Promise<Usage> {
  let [records, bytes, from] = [0, 0, 0];
  for (let isMore = true; isMore;) {
    isMore = false;
    for (const { offset } of view.scan(from)) {
      records += 1;
      bytes += view.storedBytes(offset);
      from = offset + 1;
      isMore = true;
      if (records % COUNTED_AT_ONCE === 0) break;
    }
    await nextTurn();
  }
  return { records, bytes };
}
