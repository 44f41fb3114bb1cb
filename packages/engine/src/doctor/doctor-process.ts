/** The child of `InspectionProcess`, which reads one environment after the other: what ends it is a finding. */
import { join } from "node:path";
import { type RpcServer, serveParent } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { collectionName, DataFolder } from "../storage/folder/data-folder.ts";
import { type StoreCopy, copyStore } from "./copy-store.ts";
import { describe } from "./finding.ts";
import { examineCatalog } from "./examine-catalog.ts";
import { type KnownCollection, examineCollection } from "./examine-collection.ts";
import { type SharedEnvironment, examineShared } from "./examine-shared.ts";
import { LmdbEnvironment } from "../storage/lmdb/lmdb-environment.ts";
import { isSharedName, sharedName } from "../storage/folder/shared-names.ts";
import { proveEnvironment } from "./prove-environment.ts";

const [dataFolder = ""] = process.argv.slice(2);
const folder = new DataFolder(dataFolder);

const METHODS = {
  examineCatalog: () => examineCatalog(dataFolder),
  examineCollection: (known: unknown) => examineCollection(dataFolder, known as KnownCollection),
  proveCatalog: () => problemOf(() => proveEnvironment(folder.catalog, "catalog", false)),
  examineShared: (environment: unknown) => examineShared(dataFolder, environment as SharedEnvironment),
  proveShared: (name: unknown) => problemOf(() => proveShared(name as string, false)),
  proveCollection: (id: unknown) => problemOf(() => proveCollection(id as string)),
  checkStore: (store: unknown) => damageOf(() => check(store as string)),
  copyStore: (copy: unknown) => copyStore(copy as StoreCopy),
} as const;

/** Where the collection has no file, it may have a share of one, and fares as all of that does. */
async function proveCollection(id: string): Promise<void> {
  if (folder.collectionBytes(id) === 0) return proveShared(sharedName(id), false);
  await proveEnvironment(folder.collection(id), collectionName(id), false);
}

/** Goes through all pages first. */
async function check(store: string): Promise<void> {
  if (isSharedName(store)) return proveShared(store, true);
  // One that was never written, or was removed meanwhile, has no file.
  const path = folder.collection(store);
  if (LmdbEnvironment.exists(path)) await proveEnvironment(path, collectionName(store), true);
}

async function proveShared(name: string, thorough: boolean): Promise<void> {
  const path = join(dataFolder, name);
  if (LmdbEnvironment.exists(path)) await proveEnvironment(path, name, thorough);
}

async function problemOf(read: () => Promise<unknown>): Promise<string | null> {
  try {
    await read();
    return null;
  } catch (error) {
    return describe(error);
  }
}

/** What keeps files from being read for another reason says nothing of them, and is thrown. */
async function damageOf(read: () => Promise<unknown>): Promise<string | null> {
  try {
    await read();
    return null;
  } catch (error) {
    if (error instanceof SheafError && error.code === "collection_unavailable") return error.message;
    throw error;
  }
}

/** What the parent may ask, and what it hears. */
export type DoctorMethods = typeof METHODS;

const server: RpcServer = serveParent(
  async (method, args) => {
    const run = METHODS[method as keyof DoctorMethods] as ((argument: unknown) => unknown) | undefined;
    if (run === undefined) throw new SheafError("internal", `the doctor's process has no method ${method}`);
    return run(args[0]);
  },
  { onUnexpected: (error) => process.stderr.write(`${String(error)}\n`) },
);
server.emit("ready", null);
