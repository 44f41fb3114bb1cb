/** Partitions are parts of a log, which only collections in a database have. */
import { type JsonObject, invalid, partitionsOf } from "@sheaf/protocol";

/** 400 for a new collection in partitions where there can be none. */
export function requireUndivided(schema: JsonObject, hasLogs: boolean): void {
  if (hasLogs || partitionsOf(schema) === 1) return;
  throw invalid("schema.partitions", "only a server on a database (--database) divides collections");
}
