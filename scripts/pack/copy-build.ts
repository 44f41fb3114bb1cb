/** Copies what was built, without source maps and without what is left of sources that are gone. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const MAP_COMMENT = /\n\/\/# sourceMappingURL=\S+\s*$/u;
const CODE = /\.(?:js|d\.ts)$/u;

/** @param sources Folder that each file has its source in; `null`: the build leaves nothing behind. */
export function copyBuild(from: string, to: string, sources: string | null): void {
  for (const name of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    const isCurrent = sources === null || existsSync(join(sources, name.replace(CODE, ".ts")));
    if (!CODE.test(name) || !isCurrent) continue;
    const target = join(to, name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(join(from, name), "utf8").replace(MAP_COMMENT, "\n"));
  }
}

export function copyFiles(from: string, to: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    copyFileSync(join(from, name), join(to, name));
  }
}
