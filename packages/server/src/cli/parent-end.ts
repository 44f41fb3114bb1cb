/**
 * Resolves when the process that started this one ends.
 *
 * `npx sheaf serve` runs a shell between npm and the server. npm passes SIGTERM on to the shell only, which ends and leaves
 * the server running without anybody who would stop it. A server below npx therefore takes the end of its parent for
 * a signal. Others do not: a shell may put a server into the background and end.
 */
const POLL_MS = 500;

export function parentEnd(): Promise<string> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve("end of npx");
    }, POLL_MS);
    timer.unref();
  });
}
