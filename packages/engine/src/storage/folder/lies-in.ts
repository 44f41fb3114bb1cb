/** Whether one path leads into a folder, links followed, though it may not exist yet. */
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { SheafError } from "@sheaf/protocol";

/** As the kernel follows. More are a loop. */
const MOST_LINKS = 40;

/** Also where it is that folder. */
export function liesIn(path: string, folder: string): boolean {
  const way = relative(realPath(resolve(folder)), realPath(resolve(path)));
  return way !== ".." && !way.startsWith(`..${sep}`);
}

/** Throws `invalid_argument` for what would be written there. @param what The folder is. */
export function refuseInside(path: string, folder: string, what: string): void {
  if (!liesIn(path, folder)) return;
  throw new SheafError("invalid_argument", `${path} lies in the ${what} ${folder}; name a place elsewhere`);
}

/** The folders above a path, links followed, though it may not exist yet; the nearest first. */
export function* foldersAbove(path: string): Generator<string> {
  for (let folder = realPath(resolve(path)); folder !== dirname(folder);) {
    folder = dirname(folder);
    yield folder;
  }
}

/** As far as it exists. A link may lead to what does not. */
function realPath(path: string, links = MOST_LINKS): string {
  try {
    return realpathSync(path);
  } catch {
    const target = links === 0 ? null : linkAt(path);
    if (target !== null) return realPath(resolve(dirname(path), target), links - 1);
    const above = dirname(path);
    return above === path ? path : join(realPath(above, links), basename(path));
  }
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
