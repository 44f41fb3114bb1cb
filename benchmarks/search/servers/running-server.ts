import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { ServerUnderTest } from "./server-under-test.ts";

type Parts = Pick<ServerUnderTest, "name" | "client" | "dataFolder">;

/** A server that runs in a child process; stopped, it is ended as an operator would. */
export function runningServer(child: ChildProcess, parts: Parts): ServerUnderTest {
  return {
    ...parts,
    pid: child.pid ?? 0,
    async stop() {
      parts.client.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
