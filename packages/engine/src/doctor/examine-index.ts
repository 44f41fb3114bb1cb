/** What is wrong with the files of a collection's index. Nothing is lost with them: the index is made of the records. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { readDeadRows } from "../storage/files/dead-rows.ts";
import { FolderFiles } from "../storage/files/folder-files.ts";
import { type Manifest, readManifest } from "../storage/files/manifest.ts";
import { openSections } from "../storage/files/section-reader.ts";
import { type KnownCollection, subjectOf } from "./examine-collection.ts";
import { type Finding, describe, summarize } from "./finding.ts";

export async function examineIndex(dataFolder: string, known: KnownCollection): Promise<readonly Finding[]> {
  const path = new DataFolder(dataFolder).collectionIndex(known.id);
  const files = new FolderFiles(path);
  const problems: string[] = [];
  const { manifest, damaged } = await readManifest(files);
  problems.push(...damaged.map(describe));
  if (manifest !== null) for await (const problem of damagedFiles(files, manifest)) problems.push(problem);
  const findings: Finding[] = [];
  const subject = `index of ${subjectOf(known)}`;
  if (problems.length > 0) {
    findings.push({
      severity: "warning",
      subject,
      problem: summarize(problems),
      remedy:
        "the server makes the index anew of the records when it next opens the collection; look after the disk",
    });
  }
  const kept = await quarantined(join(path, "quarantine"));
  if (kept.length > 0) {
    findings.push({
      severity: "note",
      subject,
      problem: `${kept.length} files were found to be damaged and set aside: ${summarize(kept)}`,
      remedy: `remove ${join(path, "quarantine")} once you know why`,
    });
  }
  return findings;
}

async function* damagedFiles(files: FolderFiles, manifest: Manifest): AsyncGenerator<string> {
  try {
    await readDeadRows(files, manifest);
  } catch (error) {
    yield describe(error);
  }
  for (const segment of manifest.segments) {
    try {
      const reader = await openSections(files, segment);
      try {
        const verification = reader.verify();
        for (let done = false; !done;) done = (await verification.next()).done === true;
      } finally {
        await reader.close();
      }
    } catch (error) {
      yield describe(error);
    }
  }
}

async function quarantined(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
