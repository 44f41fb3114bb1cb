/** Names and ids in a path. A name that nothing can carry is "not found" here, before any store is asked for it. */
import type { CollectionName, DatabaseRef } from "@sheaf/engine";
import { type CollectionRef, LIMITS, SheafError, invalid } from "@sheaf/protocol";
import type { PathParams } from "../auth/authorize.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function tenantParam(params: PathParams): string {
  const name = params["tenant"] ?? "";
  const bytes = Buffer.byteLength(name);
  if (bytes < LIMITS.tenantNameBytesMin || bytes > LIMITS.tenantNameBytes) {
    throw new SheafError("not_found", `Tenant [${shown(name)}] not found`);
  }
  return name;
}

export function databaseParams(params: PathParams): DatabaseRef {
  const tenant = tenantParam(params);
  const database = params["database"] ?? "";
  if (database.length < LIMITS.nameCharactersMin) {
    throw invalid("database", `name must be at least ${LIMITS.nameCharactersMin} characters`);
  }
  if (database.length > LIMITS.nameCharacters) {
    throw new SheafError("not_found", `Database [${shown(database)}] not found`);
  }
  return { tenant, database };
}

export function collectionNameParams(params: PathParams): CollectionName {
  const database = databaseParams(params);
  const name = params["collection"] ?? "";
  if (name.length > LIMITS.nameCharacters) {
    throw new SheafError("not_found", `Collection [${shown(name)}] does not exist`);
  }
  return { ...database, name };
}

export function collectionParams(params: PathParams): CollectionRef {
  const { tenant, database } = databaseParams(params);
  const id = params["collection"] ?? "";
  if (!isCollectionId(id))
    throw invalid(
      "collection_id",
      "must be a UUID; GET .../collections/{name} returns the id of a collection",
    );
  return { tenant, database, id: id.toLowerCase() };
}

export function isCollectionId(text: string): boolean {
  return UUID.test(text);
}

/** An absurdly long name, short enough to be sent back. */
function shown(name: string): string {
  return name.length > LIMITS.nameCharacters ? `${name.slice(0, LIMITS.nameCharacters)}...` : name;
}
