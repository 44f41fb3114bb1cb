/** Why a commit of lmdb-js failed. */
import type { DiskSpace } from "../folder/disk-space.ts";

/** lmdb-js settles the cause of a failed commit just after the failure; it must not be able to hang a caller. */
const CAUSE_WAIT_MS = 1_000;

const ENOSPC = 28;
/** A quota of the file system is used up, which the free space does not show. */
const EDQUOT = 122;
/** LMDB reports a short write as an I/O error; with no space left that is what it was. */
const EIO = 5;
/**
 * Errors of LMDB that its own pages are the reason of: page not found, corrupted, panic, version mismatch, invalid,
 * cursor full, page full, bad transaction (one that met damage before), problem. Of those of the system: a page that claims to be
 * large beyond reason leads to writes from bad addresses, or of more than a file can hold.
 */
const DAMAGE: ReadonlySet<unknown> = new Set([
  -30_797, -30_796, -30_795, -30_794, -30_793, -30_787, -30_786, -30_782, -30_779, 14, 27,
]);

/** A failed commit hides its cause in a promise that ends the process if nobody handles it. */
export async function commitCause(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  const pending = Promise.resolve(error.commitError).then(
    () => error,
    (cause: unknown) => cause,
  );
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => resolve(error), CAUSE_WAIT_MS);
  });
  const cause = await Promise.race([pending, timeout]);
  clearTimeout(timer);
  return cause;
}

export function errorCode(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** What LMDB says where its own pages are the reason. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Error && DAMAGE.has(errorCode(error));
}

export function isDiskFull(error: unknown, disk: DiskSpace): boolean {
  const code = errorCode(error);
  return code === ENOSPC || code === EDQUOT || (code === EIO && disk.problem() !== null);
}
