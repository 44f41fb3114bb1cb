/** What `$key` and `$age` have of records, in the plainest code. */
import type { FieldLeaf, MetadataValue } from "@sheaf/protocol";
import type { StoredRecord } from "../../storage/stored-record.ts";

export function oracleField(rows: readonly StoredRecord[], leaf: FieldLeaf): Map<StoredRecord, number> {
  const support = new Map<StoredRecord, number>();
  for (const record of rows) {
    const value = record.metadata?.get(leaf.key);
    const score = leaf.type === "key" ? keyScore(value) : ageScore(value, leaf);
    if (score !== null) support.set(record, score);
  }
  return support;
}

function keyScore(value: MetadataValue | undefined): number | null {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return nearestFloat32(value);
  return typeof value === "number" ? Math.fround(value) + 0 : null;
}

function ageScore(
  value: MetadataValue | undefined,
  { now, halfLife }: Extract<FieldLeaf, { type: "age" }>,
): number | null {
  if (typeof value !== "bigint" && typeof value !== "number") return null;
  const age = now - Number(value);
  return Math.fround((age > 0 ? age : 0) / halfLife);
}

/** By long division: 24 bits, and to the even one of two that are as near. */
function nearestFloat32(value: bigint): number {
  const size = value < 0n ? -value : value;
  let unit = 1n;
  while (size / unit >= 2n ** 24n) unit *= 2n;
  const down = size / unit;
  const twice = 2n * (size % unit);
  const isUp = twice > unit || (twice === unit && down % 2n === 1n);
  const nearest = Number((isUp ? down + 1n : down) * unit);
  return value < 0n ? -nearest : nearest;
}
