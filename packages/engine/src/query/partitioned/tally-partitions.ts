/** How often the values of a key occur in all partitions: their counts, added up. */
import type { MetadataScalar } from "@sheaf/protocol";
import { scalarKey } from "../../segment/columns/scalar-key.ts";
import type { TalliedRows } from "../facet/facets.ts";
import { ValueTally } from "../facet/value-tally.ts";
import type { PartitionedRecords } from "./partitioned-records.ts";

/** @param count Records that the list's selection has. */
export function talliedPartitions(list: number, count: number, { reads }: PartitionedRecords): TalliedRows {
  return {
    count,
    tally: async (key, part, hasRoom) => {
      const tally = new ValueTally(part);
      // One after the other: what each sends may be large.
      for (const read of reads) {
        const tallied = await read.tally(list, key, part);
        if (tallied === null) return null;
        for (const [i, value] of tallied.values.entries()) addValue(tally, value, tallied.counts[i]!);
        tally.holders += tallied.holders;
        tally.unlisted += tallied.unlisted;
        if (!(await hasRoom(tally))) return null;
      }
      return tally;
    },
  };
}

function addValue(tally: ValueTally, value: MetadataScalar, count: number): void {
  const key = scalarKey(value);
  if (typeof key === "boolean" || typeof key === "string") tally.addOther(key, count);
  else tally.addNumber(key, typeof value === "bigint" ? "int" : "float", count);
}
