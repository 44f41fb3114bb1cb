/**
 * A virtual environment that holds exactly what a requirements file pins. It is made again when the pins or the
 * Python change, and kept otherwise.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface PythonEnvironmentOptions {
  /** Of the environment; nothing else may be in it. */
  readonly folder: string;
  /** Path of the requirements file. */
  readonly requirements: string;
  /** Of the Python; one that is 3.11 or later is looked for if omitted. */
  readonly command?: string;
}

/** The folder of the environment's programs, or why there is no environment. */
export type PythonEnvironment = { readonly bin: string } | { readonly problem: string };

/** Takes about a minute where the environment has to be made. */
export function preparePythonEnvironment(options: PythonEnvironmentOptions): PythonEnvironment {
  const { folder, requirements, command } = options;
  const python = command === undefined ? findPython() : askPython(command);
  if (python === null)
    return { problem: `it needs ${command ?? "Python 3.11 or later, as python3 or as the path in PYTHON"}` };
  const bin = join(folder, process.platform === "win32" ? "Scripts" : "bin");
  const marker = join(folder, ".requirements");
  const wanted = createHash("sha256").update(python.version).update(readFileSync(requirements)).digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return { bin };
  console.log(`Installing Python packages into ${folder}…`);
  rmSync(folder, { recursive: true, force: true });
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const made =
    succeeds(python.command, ["-m", "venv", folder]) &&
    succeeds(join(bin, "python"), [...pip, "--requirement", requirements]);
  if (!made)
    return { problem: "its packages could not be installed: it needs venv, pip and a package index" };
  writeFileSync(marker, wanted);
  return { bin };
}

interface Python {
  readonly command: string;
  /** `3.11`. */
  readonly version: string;
}

function findPython(): Python | null {
  for (const command of [process.env["PYTHON"], "python3", "python"]) {
    if (command === undefined || command === "") continue;
    const python = askPython(command);
    const [major = 0, minor = 0] = python?.version.split(".").map(Number) ?? [];
    if (major === 3 && minor >= 11) return python;
  }
  return null;
}

/** `null`: there is none under this name. */
function askPython(command: string): Python | null {
  const program = "import sys; print('%d.%d' % sys.version_info[:2])";
  const { status, stdout } = spawnSync(command, ["-c", program], { encoding: "utf8" });
  return status === 0 ? { command, version: stdout.trim() } : null;
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "inherit" }).status === 0;
}
