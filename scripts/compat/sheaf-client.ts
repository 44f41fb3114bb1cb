/** The Python package of Sheaf as its users get it: checked, built as a source archive and a wheel of that, and installed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../../clients/python", import.meta.url));
const TESTS = fileURLToPath(new URL("../../test/compat/python", import.meta.url));
/** Those that came with the package; the older ones have a style of their own. */
const FORMATTED = ["test_agreement.py", "test_sheaf_client.py", "test_sheaf_client_frameworks.py"].map(
  (name) => join(TESTS, name),
);

/**
 * `false`: a check or the build failed, and has said why. `bin`: programs of the environment that checks, builds and
 * gets it. `others`: programs of environments that get the same wheel.
 */
export function installSheafClient(bin: string, others: readonly string[] = []): boolean {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-client-"));
  const python = (...args: readonly string[]): boolean => runs(join(bin, "python"), args);
  const settings = join(PACKAGE, "pyproject.toml");
  try {
    const ruff = (...args: readonly string[]): boolean =>
      python("-m", "ruff", ...args, "--quiet", "--no-cache", "--config", settings, PACKAGE, ...FORMATTED);
    const checked =
      ruff("check") &&
      ruff("format", "--check") &&
      python("-m", "mypy", "--cache-dir", join(bin, "../mypy-cache"), join(PACKAGE, "src"));
    if (!checked || !python("-m", "build", "--no-isolation", "--outdir", folder, PACKAGE)) return false;
    const wheel = readdirSync(folder).find((name) => name.endsWith(".whl")) ?? "";
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    return [bin, ...others].every((each) =>
      runs(join(each, "python"), [...pip, "--force-reinstall", join(folder, wheel)]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Output is shown where it fails. */
function runs(program: string, args: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: PACKAGE, encoding: "utf8" });
  if (status !== 0) console.error(`compat:python: ${args.join(" ")}\n${stdout ?? ""}${stderr ?? ""}`);
  return status === 0;
}
