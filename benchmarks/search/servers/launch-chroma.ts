/**
 * The peer: the newest Chroma server. From PyPI in an environment of the benchmarks' own; where there is no Python, the
 * older one that npm has.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../scripts/free-port.ts";
import { peerEnvironment } from "../../peers/peer-environment.ts";
import { HttpClient } from "../http-client.ts";
import { runningServer } from "./running-server.ts";
import type { Launch } from "./server-under-test.ts";

const PYPI_VERSION = "1.5.9";
const NPM_PACKAGE = "chromadb-js-bindings-linux-x64-gnu";
const NPM_VERSION = "1.0.5";
const NPM_FOLDER = fileURLToPath(new URL("../../../node_modules/.cache/bench-chroma-npm", import.meta.url));

/** How to start it and what to call it, or why it cannot be started. */
export type ChromaSource =
  | { readonly version: string; readonly launch: Launch }
  | { readonly problem: string };

export function findChroma(): ChromaSource {
  const environment = peerEnvironment();
  if ("bin" in environment)
    return {
      version: PYPI_VERSION,
      launch: launcher((args) => [join(environment.bin, "chroma"), args]),
    };
  if (!installFromNpm()) return environment;
  const program = `require(${JSON.stringify(NPM_PACKAGE)}).cli(["chroma", ...process.argv.slice(1)])`;
  return {
    version: NPM_VERSION,
    launch: launcher((args) => [process.execPath, ["--eval", program, "--", ...args]]),
  };
}

function installFromNpm(): boolean {
  if (existsSync(join(NPM_FOLDER, "node_modules", NPM_PACKAGE))) return true;
  mkdirSync(NPM_FOLDER, { recursive: true });
  const args = ["install", "--prefix", NPM_FOLDER, "--no-save", "--no-audit", "--no-fund"];
  return spawnSync("npm", [...args, `${NPM_PACKAGE}@${NPM_VERSION}`], { stdio: "inherit" }).status === 0;
}

function launcher(command: (args: readonly string[]) => readonly [string, readonly string[]]): Launch {
  return async (dataFolder) => {
    const port = await freePort();
    const [program, args] = command(["run", "--path", dataFolder, "--port", String(port)]);
    const child = spawn(program, args, { stdio: "ignore", cwd: existsSync(NPM_FOLDER) ? NPM_FOLDER : "." });
    const client = new HttpClient(`http://127.0.0.1:${port}`);
    return runningServer(child, { name: "Chroma", client, dataFolder });
  };
}
