/** Partitions are parts of a log, which only collections in a database have. */
import { type Collection, type JsonObject, invalid, partitionsOf } from "@sheaf/protocol";
import type { Catalog } from "../../catalog/catalog.ts";
import { lineageOf } from "../lineage.ts";
import type { CollectionLogs } from "../logged/collection-logs.ts";

/** 400 for a new collection in partitions where there can be none. */
export function requireUndivided(schema: JsonObject, hasLogs: boolean): void {
  if (hasLogs || partitionsOf(schema) === 1) return;
  throw invalid("schema.partitions", "only a server on a database (--database) divides collections");
}

/** Before the first write, so that no server of a version that does not know partitions makes it, as that of a whole collection. */
export async function createLog(
  { id, tenant, database, schema }: Collection,
  { catalog, logs }: { readonly catalog: Catalog; readonly logs: CollectionLogs | null },
): Promise<void> {
  const epoch = await catalog.epoch({ id, tenant, database });
  await logs?.create({ id, tenant, epoch: lineageOf({ id, epoch, schema }) });
}
