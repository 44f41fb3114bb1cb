/** Whatever is turned (every so many bytes), cut, swapped or lost in an archive: it is found before anything is restored, and nothing is passed over. */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { BackupHeader } from "../backup/backup-files.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import { makeCollection, record, write } from "../testing/engine-fixtures.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { type SegmentName, listSegments } from "./archive-format.ts";
import { type ArchiveEntry, readArchive } from "./read-archive.ts";
import { planReplay } from "./plan-replay.ts";

const STEP = 13;

let folder: string;
let base: Pick<BackupHeader, "archive" | "started" | "finished">;
let segments: readonly SegmentName[];
let last: ArchiveEntry;

beforeEach(async () => {
  folder = await archiveOf(18);
  segments = listSegments(folder);
  last = [...readArchive(folder, 0)].at(-1)!;
  base = { started: 0, finished: 0, archive: { chain: last.chain, from: 0, to: 2 } };
});

async function archiveOf(writes: number): Promise<string> {
  const to = join(temporaryFolder(), "archive");
  const archive = { folder: to, keepMs: 86_400_000, segmentBytes: 900 };
  const engine = await createLocalEngine({ dataFolder: join(temporaryFolder(), "data"), archive });
  const ref = await makeCollection(engine);
  for (let i = 0; i < writes; i++)
    await write(engine, ref, "upsert", record(`r${i % 5}`, { document: `${i}` }));
  await engine.close();
  return to;
}

/** Position that a restore would lead to, or what it is refused with. */
function planned(): number | string {
  try {
    return planReplay(folder, base, null).to;
  } catch (error) {
    if (error instanceof SheafError) return error.message;
    throw error;
  }
}

/** Whether damage in a file is found: it is refused, or it is in the newest entry, as if the server had been killed there. */
function isFound(segment: SegmentName): boolean {
  const found = planned();
  if (typeof found === "number") return segment === segments.at(-1) && found === last.position - 1;
  return /^the archive can be followed up to entry \d+ only: /u.test(found);
}

describe("an archive of which", () => {
  it("a byte is turned", () => {
    expect(segments.length).toBeGreaterThan(4);
    expect(planned()).toBe(last.position);
    const missed: string[] = [];
    for (const segment of segments) {
      const bytes = readFileSync(segment.path);
      for (let at = 0; at < bytes.length; at += STEP) {
        const turned = Buffer.from(bytes);
        turned[at]! ^= 1 << (at & 7);
        writeFileSync(segment.path, turned);
        if (!isFound(segment)) missed.push(`byte ${at} of ${basename(segment.path)}`);
      }
      writeFileSync(segment.path, bytes);
    }
    expect(missed).toEqual([]);
  });

  it("a file is cut", () => {
    for (const segment of segments.slice(0, -1)) {
      const bytes = readFileSync(segment.path);
      for (let length = 0; length < bytes.length; length += 4 * STEP) {
        truncateSync(segment.path, length);
        expect(planned(), `${basename(segment.path)} at ${length}`).toContain("can be followed up to entry");
        writeFileSync(segment.path, bytes);
      }
    }
  });

  it("something is missing is followed up to there, and says what is behind", () => {
    const [, , lost, next] = segments as readonly [SegmentName, SegmentName, SegmentName, SegmentName];
    const target = { position: lost.first - 1 };
    expect(planReplay(folder, base, target)).toMatchObject({ end: last.position, problem: null });
    renameSync(lost.path, `${lost.path}.aside`);
    const problem = `entries ${lost.first} to ${next.first - 1} are missing`;
    expect(planReplay(folder, base, target)).toMatchObject({ end: target.position, problem });
    renameSync(`${lost.path}.aside`, lost.path);
    const name = basename(lost.path).replace(/\d+/u, (digits) =>
      String(lost.first + 1).padStart(digits.length, "0"),
    );
    copyFileSync(lost.path, join(folder, name));
    expect(planned()).toContain(`segment ${name} begins with an entry of the one before`);
  });

  it("files are lost, swapped, or of another archive", async () => {
    const other = await archiveOf(20);
    for (const [i, segment] of segments.slice(1, -1).entries()) {
      const aside = `${segment.path}.aside`;
      renameSync(segment.path, aside);
      expect(planned()).toContain("missing");
      const before = segments[i]!;
      copyFileSync(before.path, segment.path);
      expect(planned()).toContain("no whole header");
      const foreign = listSegments(other).find(({ first }) => first === segment.first);
      if (foreign !== undefined) {
        copyFileSync(foreign.path, segment.path);
        expect(planned()).toMatch(/of another chain|missing|damaged/u);
      }
      renameSync(aside, segment.path);
    }
    // Nobody ever writes to it.
    for (const { path } of [segments[1]!, segments.at(-1)!]) {
      renameSync(path, `${path}.aside`);
      execFileSync("mkfifo", [path]);
      expect(planned()).toBe(`${path} is no file`);
      renameSync(`${path}.aside`, path);
    }
    expect(planned()).toBe(last.position);
  });
});
