/** Stands in a data folder: of which chain of an archive its changes are a part, and whether a backup leads to that chain. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "../storage/folder/write-durably.ts";

export const ARCHIVE_MARK = "archive.json";

export interface ArchiveMark {
  readonly chain: string;
  /** Id of the newest backup that the chain goes on from; `null`: there is none, or an earlier version wrote the mark. */
  readonly backup: string | null;
  /** Entries above it are needed with that backup; `null`: an earlier version wrote the mark. */
  readonly from: number | null;
}

/** `null`: there is none that can be read. */
export function readMark(dataFolder: string): ArchiveMark | null {
  const path = join(dataFolder, ARCHIVE_MARK);
  if (!existsSync(path)) return null;
  try {
    const { chain, backup, from } = JSON.parse(readFileSync(path, "utf8")) as Partial<
      Record<string, unknown>
    >;
    if (typeof chain !== "string") return null;
    const isKnown = typeof backup === "string";
    return {
      chain,
      backup: isKnown ? backup : null,
      from: isKnown && typeof from === "number" ? from : null,
    };
  } catch {
    return null;
  }
}

export function writeMark(dataFolder: string, mark: ArchiveMark): void {
  writeDurably(join(dataFolder, ARCHIVE_MARK), `${JSON.stringify(mark)}\n`);
}

export function removeMark(dataFolder: string): void {
  rmSync(join(dataFolder, ARCHIVE_MARK), { force: true });
}
