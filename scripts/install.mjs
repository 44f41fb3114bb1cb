/** Installs what the lockfile pins, unless node_modules already holds exactly that. Runs before any package is there. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const marker = `${root}node_modules/.sheaf-lock`;

/** Runs a command in the repository root with its output shown; ends this process if it fails. */
export function run(command, args) {
  // npm is a .cmd file on Windows, which only a shell starts.
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

export function installPackages() {
  const lock = createHash("sha256")
    .update(readFileSync(`${root}package-lock.json`))
    .digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === lock) return;
  console.log("Installing packages…");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(marker, lock);
}

/** A path that was given to an npm script: npm runs it in the folder of the package, and says in which folder its user is. */
export function callersPath(path) {
  return resolve(process.env.INIT_CWD ?? process.cwd(), path);
}

/** Installs and builds, then runs a script of the sources, which ends what it has started. */
export function runWithServer(script, args) {
  // Ctrl-C reaches the script too; whoever waits for this process is not to close the terminal before that has cleaned up.
  process.on("SIGINT", () => {});
  installPackages();
  console.log("Building…");
  run("npm", ["run", "--silent", "build"]);
  run(process.execPath, ["--conditions=@sheaf/source", "--import", "tsx", script, ...args]);
}
