/** What the history of a collection's records is told apart by: in its log, and in the files of its index. */
import { hash } from "node:crypto";
import { type JsonObject, partitionsOf } from "@sheaf/protocol";

export interface Lineage {
  readonly id: string;
  readonly epoch: string;
  readonly schema: JsonObject;
}

/**
 * A UUID. Collections of before have no epoch, and one history.
 *
 * That of a divided collection is made of the catalog's epoch: a program that does not know partitions looks for the epoch
 * itself, and can neither write to the log nor read it.
 */
export function lineageOf({ id, epoch, schema }: Lineage): string {
  const known = epoch || id;
  if (partitionsOf(schema) === 1) return known;
  const hex = hash("sha256", `partitions of ${known}`).slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}
