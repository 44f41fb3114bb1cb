/** Writes small files so that a crash leaves the whole of one, or what was there before. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { OWNER_ONLY_FILE } from "./restrict-access.ts";

export function writeDurably(path: string, text: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, text, { flush: true, mode: OWNER_ONLY_FILE });
  renameSync(temporary, path);
  const descriptor = openSync(dirname(path), "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
