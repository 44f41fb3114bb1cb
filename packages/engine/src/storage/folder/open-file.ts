/**
 * Opens what must be a file for reading. A folder, a pipe, a socket or a device that lies in its place is refused: opening a pipe
 * would wait for somebody to write, in a thread that others need, for ever, and LMDB ends the process.
 */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { SheafError } from "@sheaf/protocol";

const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Errors of opening a file that say what the process or the system is short of, and nothing of the file. */
export const LACKING: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/** Something else lies where a file should. */
export class NoFile extends SheafError {
  constructor(path: string, cause?: unknown) {
    super("failed_precondition", `${path} is no file`, { cause });
    this.name = "NoFile";
  }
}

/** Throws `NoFile`. */
export function openFile(path: string): Promise<FileHandle> {
  return openWith(path, WITHOUT_WAITING);
}

/** A link is none, wherever it leads: what is there is not of the folder. Throws `NoFile`. */
export function openFileItself(path: string): Promise<FileHandle> {
  return openWith(path, WITHOUT_WAITING | constants.O_NOFOLLOW);
}

async function openWith(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags).catch((error: unknown) => {
    throw ofOther(path, error);
  });
  // Asked in this turn: a search may wait for the file.
  if (fstatSync(file.fd).isFile()) return file;
  await file.close();
  throw new NoFile(path);
}

/** A descriptor. Throws `NoFile`. */
export function openFileSync(path: string): number {
  let file;
  try {
    file = openSync(path, WITHOUT_WAITING);
  } catch (error) {
    throw ofOther(path, error);
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new NoFile(path);
}

/** A socket, and a device that is not there, cannot be opened at all, nor can a link that is not followed or leads in circles. */
const OTHERS: ReadonlySet<unknown> = new Set(["ENXIO", "ELOOP"]);

function ofOther(path: string, error: unknown): unknown {
  return error instanceof Error && "code" in error && OTHERS.has(error.code)
    ? new NoFile(path, error)
    : error;
}
