/** Starts the built `sheaf serve` with its defaults: authentication on, every process in its place, no model loaded. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../scripts/free-port.ts";
import { HttpClient } from "../http-client.ts";
import { runningServer } from "./running-server.ts";
import type { Launch } from "./server-under-test.ts";

const COMMAND = fileURLToPath(new URL("../../../packages/server/bin/sheaf.mjs", import.meta.url));
const ROOT_KEY = "a-root-key-for-benchmarks-only";

export const launchSheaf = sheafLauncher([]);

/** @param flags Of `sheaf serve`, beside port and data folder. */
export function sheafLauncher(flags: readonly string[]): Launch {
  return async (dataFolder) => {
    const port = await freePort();
    const args = [COMMAND, "serve", "--port", String(port), "--data", dataFolder, ...flags];
    const child = spawn(process.execPath, args, {
      // Its log has a line for each request; writing that is part of what is measured, reading it is not.
      stdio: "ignore",
      env: { ...process.env, SHEAF_ROOT_KEY: ROOT_KEY },
    });
    const client = new HttpClient(`http://127.0.0.1:${port}`, { "x-service-token": ROOT_KEY });
    return runningServer(child, { name: "Sheaf", client, dataFolder });
  };
}
