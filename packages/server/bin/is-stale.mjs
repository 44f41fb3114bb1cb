// Whether a source of this checkout has changed since the build was made, as after a pull. Tests are no part of a build.
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";

const packages = new URL("../../", import.meta.url);

export async function isStale(built) {
  const { mtimeMs: builtAt } = await stat(built);
  for (const name of await readdir(packages)) {
    const sources = new URL(`${name}/src/`, packages);
    if (!existsSync(sources)) continue;
    const files = await readdir(sources, { recursive: true });
    const code = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
    const times = await Promise.all(code.map(async (file) => (await stat(new URL(file, sources))).mtimeMs));
    if (times.some((time) => time > builtAt)) return true;
  }
  return false;
}
