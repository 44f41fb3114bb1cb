/**
 * One JavaScript value per value of metadata, so that `===`, `Map` and `Set` compare an int with a float by value:
 * whole numbers that JavaScript holds exactly are numbers, the others bigints.
 */
import type { MetadataScalar } from "@sheaf/protocol";

export function scalarKey(value: MetadataScalar): MetadataScalar {
  if (typeof value === "bigint") {
    const asNumber = Number(value);
    return Number.isSafeInteger(asNumber) ? asNumber : value;
  }
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? BigInt(value)
    : value;
}
