/** Runs a command of `sheaf` to its end. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../../packages/server/bin/sheaf.mjs", import.meta.url));

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

export function runSheaf(...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], (error, out, errors) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
      resolve({ code, out, errors });
    });
  });
}
