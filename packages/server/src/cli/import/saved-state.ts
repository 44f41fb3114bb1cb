/** How far an import is, in a file that is replaced as a whole, so that an interruption leaves one state or the next. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** `null` for a file that holds no JSON object; what its members are is left to the caller. */
export function readState<T extends object>(path: string): Partial<T> | null {
  try {
    const saved: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof saved === "object" ? saved : null;
  } catch {
    return null;
  }
}

export function writeState(path: string, state: object): void {
  writeFileSync(`${path}.new`, JSON.stringify(state, null, 1), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
