/**
 * Puts a graph and the weights it refers to into one folder. ONNX Runtime opens external data only beside the graph and
 * never through a symbolic link that leaves that folder, as in the Hugging Face cache, so real files are hard-linked:
 * no weight is copied unless the work folder is on another file system.
 * Invariants: a folder appears complete or not at all, its name depends on everything in it, and it is never changed.
 */
import { createHash, randomUUID } from "node:crypto";
import { constants, copyFile, link, mkdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { errorCode, isObject, modelFileError } from "./model-file.ts";

export interface PreparedFolderPlan {
  readonly workFolder: string;
  /** File name of the graph. */
  readonly graphName: string;
  /** The whole graph, or the file it starts from and what is appended to it. */
  readonly graph: Uint8Array | { readonly base: string; readonly fragment: Uint8Array | null };
  /** Name beside the graph -> file with weights. */
  readonly weights: ReadonlyMap<string, string>;
}

/** Counts up when the contents of a prepared folder change for the same plan. */
const LAYOUT_VERSION = 1;
/** Link attempts fail so across file systems and where the owner of a file may not be joined. */
const COPY_INSTEAD: ReadonlySet<string> = new Set(["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "ENOSYS"]);

/**
 * Returns the path of the graph. Safe to run at the same time in several processes. Throws 503 `model_unavailable` if
 * the folder cannot be written.
 */
export async function writePreparedFolder(plan: PreparedFolderPlan): Promise<string> {
  const folder = path.join(plan.workFolder, await planKey(plan));
  const graphPath = path.join(folder, plan.graphName);
  if (await exists(graphPath)) return graphPath;
  const draft = path.join(plan.workFolder, `draft-${randomUUID()}`);
  try {
    await mkdir(draft, { recursive: true });
    await writeGraph(path.join(draft, plan.graphName), plan.graph);
    for (const [name, file] of plan.weights) {
      await mkdir(path.dirname(path.join(draft, name)), { recursive: true });
      await linkOrCopy(file, path.join(draft, name));
    }
    await rename(draft, folder);
  } catch (error) {
    // Another process was faster; its folder holds the same.
    if (!(await exists(graphPath))) {
      throw modelFileError(folder, `cannot be written (${errorCode(error)})`, error);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return graphPath;
}

async function planKey(plan: PreparedFolderPlan): Promise<string> {
  const hash = createHash("sha256").update(`${LAYOUT_VERSION}\n${plan.graphName}\n`);
  const files = [...plan.weights];
  if (plan.graph instanceof Uint8Array) hash.update(plan.graph);
  else {
    files.push(["", plan.graph.base]);
    hash.update(plan.graph.fragment ?? "");
  }
  for (const [name, file] of files) {
    const { size, mtimeMs, ino, dev } = await stat(file);
    hash.update(`\n${name}\n${await realpath(file)}\n${size} ${mtimeMs} ${ino} ${dev}`);
  }
  return hash.digest("hex").slice(0, 32);
}

async function writeGraph(target: string, graph: PreparedFolderPlan["graph"]): Promise<void> {
  if (graph instanceof Uint8Array) {
    await writeFile(target, graph);
  } else if (graph.fragment === null) {
    await linkOrCopy(graph.base, target);
  } else {
    await copyFile(graph.base, target, constants.COPYFILE_FICLONE);
    await writeFile(target, graph.fragment, { flag: "a" });
  }
}

async function linkOrCopy(file: string, target: string): Promise<void> {
  const source = await realpath(file);
  try {
    await link(source, target);
  } catch (error) {
    if (!COPY_INSTEAD.has(errorCode(error))) throw error;
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (isObject(error) && error["code"] === "ENOENT") return false;
    throw modelFileError(file, `cannot be read (${errorCode(error)})`, error);
  }
}
