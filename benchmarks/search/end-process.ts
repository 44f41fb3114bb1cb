import { type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Ends a server as an operator would, and waits until it has. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
