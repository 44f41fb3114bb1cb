/** What is wrong with the files of a collection's index. No record is lost with them: what they had is read from the records. */
import { lstatSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { readDeadRows } from "../storage/files/dead-rows.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { type Manifest, type SegmentEntry, readManifest } from "../storage/files/manifest.ts";
import { openSections } from "../storage/files/section-reader.ts";
import { type KnownCollection, subjectOf } from "./examine-collection.ts";
import { type Finding, describe, summarize } from "./finding.ts";

export async function examineIndex(dataFolder: string, known: KnownCollection): Promise<readonly Finding[]> {
  const path = new DataFolder(dataFolder).collectionIndex(known.id);
  const subject = `index of ${subjectOf(known)}`;
  if (!isFolderOrAbsent(path)) {
    return [
      {
        severity: "warning",
        subject,
        problem: `${path} is no folder; no record is lost by it`,
        remedy: "remove it while no server runs; all of the index is then read from the records",
      },
    ];
  }
  const files = new FolderFiles(path);
  const { manifest, damaged } = await readManifest(files);
  const lost = manifest === null ? NOTHING_LOST : await examineFiles(files, manifest);
  const problems = [...damaged.map(describe), ...lost.problems];
  const findings: Finding[] = [];
  if (problems.length > 0) {
    findings.push({
      severity: "warning",
      subject,
      problem: `${summarize(problems)}; no record is lost by it`,
      remedy:
        `look after the disk; the server reads ${readAgain(manifest, lost)} from the records once it meets the damage, which may be ` +
        `long after it opens the collection. To be sure now: remove ${path} while no server runs; all of the index is then read from the records`,
    });
  }
  const kept = await quarantined(join(path, "quarantine"));
  if (kept.length > 0) {
    findings.push({
      severity: "note",
      subject,
      problem: `files that were damaged and set aside: ${summarize(kept)}`,
      remedy: `remove ${join(path, "quarantine")} once you know why`,
    });
  }
  return findings;
}

/** A link that leads nowhere, or round in circles, is neither. */
function isFolderOrAbsent(path: string): boolean {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return true;
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

interface LostFiles {
  readonly problems: readonly string[];
  readonly segments: readonly SegmentEntry[];
}

const NOTHING_LOST: LostFiles = { problems: [], segments: [] };

/** In words: what the next opening makes again. */
function readAgain(manifest: Manifest | null, { segments }: LostFiles): string {
  if (manifest === null || segments.length === manifest.segments.length) return "the whole index";
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  return rows === 0 ? "which rows are deleted" : `at most ${rows} rows`;
}

async function examineFiles(files: FolderFiles, manifest: Manifest): Promise<LostFiles> {
  const problems: string[] = [];
  const segments: SegmentEntry[] = [];
  try {
    await readDeadRows(files, manifest);
  } catch (error) {
    problems.push(describe(error));
  }
  for (const segment of manifest.segments) {
    try {
      await verify(files, segment);
    } catch (error) {
      problems.push(describe(error));
      segments.push(segment);
    }
  }
  return { problems, segments };
}

async function verify(files: FolderFiles, segment: SegmentEntry): Promise<void> {
  const reader = await openSections(files, segment);
  try {
    const verification = reader.verify();
    for (let done = false; !done;) done = (await verification.next()).done === true;
  } finally {
    await reader.close();
  }
}

async function quarantined(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
