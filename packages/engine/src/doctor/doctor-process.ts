/** The child of `InspectionProcess`, which reads one environment after the other: what ends it is a finding. */
import { type RpcServer, serveParent } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { collectionName, DataFolder } from "../storage/folder/data-folder.ts";
import { type StoreCopy, copyStore } from "./copy-store.ts";
import { describe } from "./finding.ts";
import { examineCatalog } from "./examine-catalog.ts";
import { type KnownCollection, examineCollection } from "./examine-collection.ts";
import { proveEnvironment } from "./prove-environment.ts";

const [dataFolder = ""] = process.argv.slice(2);
const folder = new DataFolder(dataFolder);

const METHODS = {
  examineCatalog: () => examineCatalog(dataFolder),
  examineCollection: (known: unknown) => examineCollection(dataFolder, known as KnownCollection),
  proveCatalog: () => problemOf(() => proveEnvironment(folder.catalog, "catalog", false)),
  proveCollection: (id: unknown) => problemOf(() => prove(id as string, false)),
  checkCollection: (id: unknown) => damageOf(() => prove(id as string, true)),
  copyStore: (copy: unknown) => copyStore(copy as StoreCopy),
} as const;

async function prove(id: string, thorough: boolean): Promise<void> {
  if (folder.collectionBytes(id) === 0) return;
  await proveEnvironment(folder.collection(id), collectionName(id), thorough);
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
