/** The child in which `sheaf doctor` reads one environment after the other: what ends it is a finding. */
import { type RpcServer, serveParent } from "@sheaf/process";
import { SheafError } from "@sheaf/protocol";
import { collectionName, DataFolder } from "../storage/data-folder.ts";
import { examineCatalog } from "./examine-catalog.ts";
import { type KnownCollection, examineCollection } from "./examine-collection.ts";
import { proveEnvironment } from "./prove-environment.ts";

const [dataFolder = ""] = process.argv.slice(2);
const folder = new DataFolder(dataFolder);

const METHODS = {
  examineCatalog: () => examineCatalog(dataFolder),
  examineCollection: (known: unknown) => examineCollection(dataFolder, known as KnownCollection),
  proveCatalog: () => proveEnvironment(folder.catalog, "catalog"),
  proveCollection: (id: unknown) => {
    const name = id as string;
    return proveEnvironment(folder.collection(name), collectionName(name));
  },
} as const;

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
