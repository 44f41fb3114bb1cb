/**
 * Which backups were made of a data folder, as it says itself. A folder that goes on from the state of a backup has its id; an
 * earlier copy of it that was put back has not, though its collections may have come as far again by other writes.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../storage/folder/write-durably.ts";

const FILE = "backups.json";
/** The newest; more of them are hardly added to. */
const MOST = 256;

/** Ids; none where the folder does not say so. */
export function madeBackups(dataFolder: string): readonly string[] {
  const path = join(dataFolder, FILE);
  if (!existsSync(path)) return [];
  try {
    const { made } = JSON.parse(readFileSync(path, "utf8")) as { readonly made?: unknown };
    return Array.isArray(made) ? made.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

/** What adds to a backup that could not be noted reads more, and that is all. */
export function noteMadeBackup(dataFolder: string, id: string): void {
  const made = [...madeBackups(dataFolder), id].slice(-MOST);
  try {
    writeDurably(join(dataFolder, FILE), `${JSON.stringify({ made })}\n`);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}
