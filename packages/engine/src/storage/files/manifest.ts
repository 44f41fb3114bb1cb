/**
 * Which files are the index of a collection, up to which write, and what else opening it would have to learn from all
 * records. `manifest-<n>` is written durably before anything relies on it, and is never changed: the one with the highest
 * `n` that can be read counts.
 *
 * A manifest that is damaged is told apart from one that is absent: without any, all rows are indexed anew; of a damaged
 * one an operator should hear.
 */
import { type MetadataKind, SheafError, type Space } from "@sheaf/protocol";
import type { StoreHead } from "../record-store.ts";
import { parseManifest } from "./parse-manifest.ts";
import { SegmentDamaged } from "./segment-damaged.ts";
import type { ReadOptions, SegmentFiles } from "./segment-files.ts";
import { openAnySections } from "./section-reader.ts";
import { type FileIdentity, writeSections } from "./section-writer.ts";

export interface SegmentEntry extends FileIdentity {
  /** DocIds there may be, those of dead rows and of none included. */
  readonly rows: number;
}

/** Which kinds of values the records hold at a metadata key. */
export interface KeyKinds {
  readonly key: string;
  readonly kinds: readonly MetadataKind[];
}

export interface Manifest {
  /** Ascending; one that is installed later has a higher number. */
  readonly n: number;
  /** UUID of the log that the segments were made from. */
  readonly lineage: string;
  /** Sequence number: every operation up to it is in the segments and the dead rows. Some later ones may be, too. */
  readonly covers: number;
  /** The store's when the manifest was made. Dead rows know of no later write, and it fits no store that is behind it. */
  readonly head: StoreHead;
  /** Of the vectors of all segments. */
  readonly space: Space;
  /** Metadata keys of whose sparse vectors every segment has postings. */
  readonly sparse: readonly string[];
  /** Of all records up to `head`. */
  readonly kinds: readonly KeyKinds[];
  readonly segments: readonly SegmentEntry[];
  /** `null`: no row of the segments is dead. */
  readonly deadRows: FileIdentity | null;
}

export interface FoundManifest {
  /** `null`: there is none that can be read. */
  readonly manifest: Manifest | null;
  /** Newer ones that cannot be read, newest first. */
  readonly damaged: readonly SegmentDamaged[];
  /** Lowest `n` that no file has. */
  readonly nextN: number;
}

/** Segments and dead rows. */
export function filesOf({ segments, deadRows }: Manifest): readonly FileIdentity[] {
  return deadRows === null ? segments : [...segments, deadRows];
}

const SECTION = "manifest";
const NAME = /^manifest-(0|[1-9][0-9]{0,14})$/;

/** Writes it durably, then removes older ones. Rejects with `already_exists` where one came first that is not older. */
export async function installManifest(files: SegmentFiles, manifest: Manifest): Promise<void> {
  const name = `manifest-${manifest.n}`;
  const text = JSON.stringify(manifest);
  parseManifest(text, (reason) => new SheafError("internal", `${name}: ${reason}`));
  if ((await manifestNumbers(files)).some((n) => n >= manifest.n))
    throw new SheafError("already_exists", `${name} is not the newest manifest`);
  await writeSections(files, name, async (writer) => {
    await writer.stream(SECTION);
    await writer.write(Buffer.from(text));
  });
  await removeOlderManifests(files, manifest);
}

/** Changes nothing. A manifest of a later version of Sheaf throws `collection_unavailable`. */
export async function readManifest(files: SegmentFiles, options: ReadOptions = {}): Promise<FoundManifest> {
  const numbers = (await manifestNumbers(files)).toSorted((a, b) => b - a);
  const damaged: SegmentDamaged[] = [];
  const nextN = (numbers[0] ?? -1) + 1;
  for (const n of numbers) {
    try {
      const manifest = await readNumbered(files, n, options);
      if (manifest !== null) return { manifest, damaged, nextN };
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error;
      damaged.push(error);
    }
  }
  return { manifest: null, damaged, nextN };
}

/** What a crash between two steps of `installManifest` left. */
export async function removeOlderManifests(files: SegmentFiles, { n }: Manifest): Promise<void> {
  for (const number of await manifestNumbers(files)) if (number < n) await files.remove(`manifest-${number}`);
}

async function manifestNumbers(files: SegmentFiles): Promise<readonly number[]> {
  return (await files.list()).flatMap((name) => {
    const n = NAME.exec(name)?.[1];
    return n === undefined ? [] : [Number(n)];
  });
}

/** `null`: it was removed meanwhile. */
async function readNumbered(files: SegmentFiles, n: number, options: ReadOptions): Promise<Manifest | null> {
  const reader = await openAnySections(files, `manifest-${n}`, options);
  if (reader === null) return null;
  try {
    const section = reader.stream(SECTION);
    const bytes = Buffer.alloc(section.length);
    if (!section.tryRead(bytes, 0)) await section.read(bytes, 0, options);
    const fail = (reason: string): SegmentDamaged => new SegmentDamaged(reader.name, SECTION, reason);
    const manifest = parseManifest(bytes.toString("utf8"), fail);
    if (manifest.n !== n) throw fail(`it is manifest ${manifest.n}`);
    return manifest;
  } finally {
    await reader.close();
  }
}
