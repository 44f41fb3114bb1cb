/** Requests about one collection whose bodies are the JSON that the user sees or types. */
import type { Collection, Finding, SheafClient } from "@sheaf/client";
import { type JsonObject, isObject } from "../parts/json-text.ts";

export interface Asked {
  readonly client: SheafClient;
  readonly collection: Collection;
}

/** Below the API's address. */
export function collectionPath({ info: { tenant, database, id } }: Collection): string {
  const names = [tenant, database, id].map(encodeURIComponent);
  return `/api/v2/tenants/${names[0]}/databases/${names[1]}/collections/${names[2]}`;
}

export function ask<T>(
  { client, collection }: Asked,
  route: string,
  json: object,
  signal?: AbortSignal,
): Promise<T> {
  return client.request<T>({ method: "POST", path: `${collectionPath(collection)}${route}`, json, signal });
}

export interface Findings {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export function check(asked: Asked, search: JsonObject, signal?: AbortSignal): Promise<Findings> {
  return ask<Findings>(asked, "/search/check", { searches: [search] }, signal);
}

/** A record as a `get` gives it. */
export interface StoredRecord {
  readonly id: string;
  readonly document: string | null;
  readonly metadata: JsonObject | null;
  readonly uri: string | null;
}

interface Columns {
  readonly ids: readonly string[];
  readonly documents: readonly (string | null)[] | null;
  readonly metadatas: readonly (JsonObject | null)[] | null;
  readonly uris: readonly (string | null)[] | null;
}

export interface RecordPage {
  readonly where: JsonObject | null;
  readonly limit: number;
  readonly offset: number;
  /** As the order of the records; that of their first writes if omitted. */
  readonly orderBy?: readonly JsonObject[];
}

export async function getRecords(
  asked: Asked,
  { where, limit, offset, orderBy }: RecordPage,
  signal?: AbortSignal,
): Promise<readonly StoredRecord[]> {
  const include = ["documents", "metadatas", "uris"];
  const json = { where: where ?? undefined, limit, offset, order_by: orderBy, include };
  const { ids, documents, metadatas, uris } = await ask<Columns>(asked, "/get", json, signal);
  return ids.map((id, i) => ({
    id,
    document: documents?.[i] ?? null,
    metadata: plainFields(metadatas?.[i] ?? null),
    uri: uris?.[i] ?? null,
  }));
}

/** Metadata keys that records have been written with, as the schema of the collection lists them. */
export function metadataKeys({ info: { schema } }: Collection): readonly string[] {
  return Object.entries(schema.keys ?? {}).flatMap(([key, types]) =>
    key.startsWith("#") || types.sparse_vector !== undefined ? [] : [key],
  );
}

/** Without sparse vectors, which say nothing to people. */
export function plainFields(metadata: JsonObject | null): JsonObject | null {
  if (metadata === null) return null;
  const isVector = (value: unknown): boolean => isObject(value) && value["#type"] === "sparse_vector";
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isVector(value)));
}
