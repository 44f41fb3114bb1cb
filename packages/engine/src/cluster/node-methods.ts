/** What a gateway may call on a search node, and what becomes of a call whose node fails (`Repeat`). */
import type { Repeat } from "@sheaf/process";
import type { Engine } from "../engine.ts";

/** Backups are those of the database; `close` is the end of the connection. */
type NodeMethod = Exclude<keyof Engine, "close" | "makeBackup" | "backupProgress">;

/** `pinned`: means something only to the node that has begun the read. */
export const NODE_METHODS = {
  createTenant: "once",
  getTenant: "again",
  listTenants: "again",
  updateTenant: "once",
  resolveTenant: "again",
  deleteTenant: "once",
  createDatabase: "once",
  getDatabase: "again",
  listDatabases: "again",
  deleteDatabase: "once",
  createCollection: "once",
  getCollection: "again",
  getCollectionByName: "again",
  listCollections: "again",
  countCollections: "again",
  collectionUsage: "again",
  updateCollection: "once",
  // Doing these twice is doing them once.
  rememberModels: "again",
  acceptModels: "again",
  recordActivity: "again",
  deleteCollection: "once",
  forkCollection: "once",
  forkCount: "again",
  listKeys: "again",
  findKeys: "again",
  createKey: "once",
  rotateKey: "once",
  deleteKey: "once",
  listTokenUsage: "again",
  statistics: "again",
  reset: "once",
  write: "once",
  writeAsGiven: "once",
  delete: "once",
  commit: "once",
  readToken: "hedged",
  get: "hedged",
  query: "hedged",
  search: "hedged",
  count: "hedged",
  facets: "hedged",
  indexingStatus: "hedged",
  beginPartition: "hedged",
  recordsOf: "hedged",
  deleteSelected: "once",
  askPartition: "pinned",
  nextBatch: "pinned",
  closeRead: "pinned",
} as const satisfies Record<NodeMethod, Repeat | "pinned">;

/** Those that write one batch, which a node has made or not: with a full disk it says so, and has not. */
const IN_ONE_BATCH: ReadonlySet<string> = new Set<NodeMethod>([
  "write",
  "writeAsGiven",
  "delete",
  "deleteSelected",
  "commit",
]);

/** Whether another node may be asked where one has no room. */
export function isUndoneWithoutRoom(method: string): boolean {
  return IN_ONE_BATCH.has(method) || (isNodeMethod(method) && NODE_METHODS[method] === "hedged");
}

export function isNodeMethod(method: string): method is NodeMethod {
  return Object.hasOwn(NODE_METHODS, method);
}
