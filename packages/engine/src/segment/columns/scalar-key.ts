/**
 * One JavaScript value per value of metadata, so that `===`, `Map` and `Set` compare an int with a float by value:
 * whole numbers that JavaScript holds exactly are numbers, the others bigints. Long texts are their SHA-256, so that a
 * column is small whatever it is of.
 */
import { createHash } from "node:crypto";
import type { MetadataScalar } from "@sheaf/protocol";

/** In UTF-16 units, as many as the digest takes: what stands for a longer text is longer than each that stands for itself. */
const LONGEST_TEXT = 64;

export function scalarKey(value: MetadataScalar): MetadataScalar {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? value : digestOf(value);
  if (typeof value === "bigint") {
    const asNumber = Number(value);
    return Number.isSafeInteger(asNumber) ? asNumber : value;
  }
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? BigInt(value)
    : value;
}

/** Of the UTF-16 units, for UTF-8 knows no lone surrogates. */
function digestOf(text: string): string {
  return `#${createHash("sha256").update(Buffer.from(text, "utf16le")).digest("hex")}`;
}
