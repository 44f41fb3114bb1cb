/**
 * What tells the groups of `group_by` apart: a text of bounded length for the values of its keys, the same for equal
 * values. Short values stand in it as they are. Of long ones there is a SHA-256: nobody can make two that share it, so
 * that different values never meet in a group, and a value of a megabyte takes 44 characters.
 */
import { createHash } from "node:crypto";
import { type MetadataValue, isIntegerArray, isSparseVector, metadataKind } from "@sheaf/protocol";
import { metadataIdentity } from "../metadata-order.ts";

/** Characters of a value, and of a whole identity, that stand as they are. */
const MAX_CHARACTERS = 256;
const MAX_MEMBERS = 8;

/** The part of one key; those of all keys in their order are joined. */
export function identityPart(value: MetadataValue | undefined): string {
  if (value === undefined) return "0/";
  const identity = isShort(value) ? metadataIdentity(value) : digestOf(value);
  return `${identity.length}/${identity}`;
}

/** Of the joined parts of all keys. */
export function groupIdentity(parts: string): string {
  return parts.length <= MAX_CHARACTERS
    ? parts
    : createHash("sha256").update(parts, "utf16le").digest("base64");
}

function isShort(value: MetadataValue): boolean {
  if (typeof value === "string") return value.length <= MAX_CHARACTERS;
  if (typeof value !== "object") return true;
  if (isSparseVector(value)) return value.indices.length <= MAX_MEMBERS;
  if (value.length > MAX_MEMBERS) return false;
  let characters = 0;
  for (const member of value) if (typeof member === "string") characters += member.length;
  return characters <= MAX_CHARACTERS;
}

/** Begins with the name of the kind, and a `metadataIdentity` with a digit. */
function digestOf(value: MetadataValue): string {
  const hash = createHash("sha256");
  if (typeof value !== "object") hash.update(String(value), "utf16le");
  else if (isSparseVector(value))
    hash.update(value.indices).update(Float32Array.from(value.values, unsigned));
  else if (isIntegerArray(value)) hash.update(`${value.BYTES_PER_ELEMENT}:`).update(value);
  else if (value instanceof Float64Array) hash.update(value.map(unsigned));
  else hash.update(JSON.stringify(value));
  return `${metadataKind(value)}#${hash.digest("base64")}`;
}

/** -0 and 0 are equal, and their bytes are not. */
function unsigned(value: number): number {
  return value + 0;
}
