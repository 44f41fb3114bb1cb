/**
 * One JavaScript value per value of metadata, so that `===`, `Map` and `Set` compare an int with a float by value:
 * whole numbers that JavaScript holds exactly are numbers, the others bigints. Long texts are their SHA-256, so that a
 * column is small whatever it is of.
 */
import { hash } from "node:crypto";
import type { MetadataScalar } from "@sheaf/protocol";

/** In UTF-16 units. What stands for a longer text is longer than each that stands for itself. */
const LONGEST_TEXT = 256;
const DIGEST_CHARACTERS = 64;
const DIGEST_MARK = "#".repeat(LONGEST_TEXT + 1 - DIGEST_CHARACTERS);

export function scalarKey(value: MetadataScalar): MetadataScalar {
  // Of the UTF-16 units, for UTF-8 knows no lone surrogates.
  if (typeof value === "string")
    return value.length <= LONGEST_TEXT ? value : keyOfDigest(hash("sha256", Buffer.from(value, "utf16le")));
  if (typeof value === "bigint") {
    const asNumber = Number(value);
    return Number.isSafeInteger(asNumber) ? asNumber : value;
  }
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? BigInt(value)
    : value;
}

/** @param digest In hexadecimal. */
export function keyOfDigest(digest: string): string {
  return DIGEST_MARK + digest;
}

/** In hexadecimal; `null`: the key is the text. */
export function digestOfKey(key: string): string | null {
  return key.length > LONGEST_TEXT ? key.slice(DIGEST_MARK.length) : null;
}
