/** What Sheaf and its peer have in common: one HTTP interface, a process tree, a data folder. */
import type { HttpClient } from "../http-client.ts";

export interface ServerUnderTest {
  readonly name: string;
  readonly client: HttpClient;
  /** Root of the process tree. */
  readonly pid: number;
  readonly dataFolder: string;
  /** Ends the server and leaves its data. */
  stop(): Promise<void>;
}

/** Starts the server on a data folder, resolves when the process runs, before it answers. */
export type Launch = (dataFolder: string) => Promise<ServerUnderTest>;

export const DATABASE = "/api/v2/tenants/default_tenant/databases/default_database";
/** Name of the collection that is measured. */
export const COLLECTION = "measured";
/** Of every collection without a schema; both servers take it. */
export const CONFIGURATION = { hnsw: { space: "cosine" } };

/** Path of a new collection. */
export async function createCollection(client: HttpClient, body: object): Promise<string> {
  const { id } = await client.ask<{ id: string }>(`${DATABASE}/collections`, body);
  return `${DATABASE}/collections/${id}`;
}

/** Path of a collection that is there. */
export async function findCollection(client: HttpClient, name: string): Promise<string> {
  const { id } = await client.ask<{ id: string }>(`${DATABASE}/collections/${name}`);
  return `${DATABASE}/collections/${id}`;
}
