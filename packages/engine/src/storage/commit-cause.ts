/** Why a commit of lmdb-js failed. */

/** lmdb-js settles the cause of a failed commit just after the failure; it must not be able to hang a caller. */
const CAUSE_WAIT_MS = 1_000;

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
