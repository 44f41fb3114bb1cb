/** Installs what the lockfile pins, unless node_modules already holds exactly that. Runs before any package is there. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
