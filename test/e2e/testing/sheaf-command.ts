/** Runs a command of `sheaf` to its end against a server of a test. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ROOT_KEY } from "./served-sheaf.ts";

export const COMMAND = fileURLToPath(new URL("../../../packages/server/bin/sheaf.mjs", import.meta.url));

export interface EndedCommand {
  readonly code: number;
  /** Both streams. */
  readonly output: string;
}

interface CommandPlace {
  readonly cwd?: string;
  /** Beside the address and the key of the server. */
  readonly env?: NodeJS.ProcessEnv;
}

export async function sheafAt(
  url: string,
  args: readonly string[],
  { cwd, env = {} }: CommandPlace = {},
): Promise<EndedCommand> {
  const variables = { ...process.env, SHEAF_URL: url, SHEAF_KEY: ROOT_KEY, ...env };
  try {
    const options = { env: variables, cwd };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [COMMAND, ...args], options);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}
