/** What an import says at its end. */
import type { ImportState } from "./import-state.ts";
import { several } from "../../several.ts";

/** Gives the exit code: 0 where everything is the same on both sides. */
export function printReport(state: ImportState, asJson: boolean): number {
  const { collections, wrong } = state;
  if (asJson) console.log(JSON.stringify({ collections }, null, 2));
  else {
    for (const { from, target, checksum, problem } of collections)
      console.log(
        `${from}: ${problem ?? `${several(target ?? 0, "record")}, checksum ${checksum.slice(0, 16)}`}`,
      );
    const records = collections.reduce((sum, { target }) => sum + (target ?? 0), 0);
    const same = wrong.length === 0 ? "all the same on both sides" : `${wrong.length} not the same`;
    console.log(
      `${several(collections.length, "collection")} with ${several(records, "record")}; ${same}; see ${state.report}`,
    );
  }
  return wrong.length === 0 ? 0 : 1;
}
