/** Packages of Debian as files, of the release that this machine runs. They are unpacked, never installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Gives the paths of the files, in the order of `names`. */
export function downloadDebian(names: readonly string[], folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  // apt downloads as a user of its own.
  chmodSync(folder, 0o777);
  const download = (): number | null =>
    spawnSync("apt-get", ["download", "--quiet=2", ...names], { cwd: folder, stdio: "ignore" }).status;
  if (download() !== 0) {
    // A new machine knows no packages yet.
    execFileSync("apt-get", ["update", "--quiet=2"], { stdio: ["ignore", "ignore", "inherit"] });
    if (download() !== 0) throw new Error(`apt-get could not download ${names.join(", ")}`);
  }
  const files = readdirSync(folder);
  return names.map((name) => {
    const file = files.find((each) => each.startsWith(`${name}_`));
    if (file === undefined) throw new Error(`apt-get has left no file of ${name}`);
    return join(folder, file);
  });
}
