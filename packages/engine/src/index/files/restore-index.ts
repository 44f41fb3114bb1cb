/**
 * Reads the files of an index: the newest manifest, the segments that it names and their dead rows. What does not fit
 * (another log, a store that is behind, other vectors or keys than the plan's, a damaged manifest) gives nothing, and the
 * index is made anew of the records. A file that is damaged or missing takes along only what it had. Damaged files are set
 * aside for a person to look at; the manifest stays and names them, so that every opening knows of the gap until a later
 * manifest has all rows.
 */
import type { CancelSignal, IndexPlan } from "@sheaf/protocol";
import type { KernelKind } from "../../kernels/kernel-memory.ts";
import { openSegmentFile } from "../../segment/files/segment-file.ts";
import type { SealedSegment } from "../../segment/sealed-segment.ts";
import { type DeadRows, readDeadRows } from "../../storage/files/dead-rows.ts";
import { type Manifest, type SegmentEntry, readManifest } from "../../storage/files/manifest.ts";
import type { IndexMemory } from "../../storage/files/index-memory.ts";
import { SegmentDamaged, SegmentMissing } from "../../storage/files/segment-damaged.ts";
import type { SegmentFiles } from "../../storage/files/segment-files.ts";
import { Slots } from "../../storage/objects/slots.ts";
import type { StoreHead } from "../../storage/record-store.ts";

/** A sealed segment that was read from its file. */
export interface RestoredSegment {
  readonly segment: SealedSegment;
  /** A bit for each docId whose row is live. */
  readonly live: Uint32Array<ArrayBuffer>;
  readonly file: SegmentEntry;
}

export interface RestoredIndex {
  readonly manifest: Manifest;
  /** Oldest first. */
  readonly segments: readonly RestoredSegment[];
  /** Segments whose files are damaged or missing: their live rows are in the records alone. */
  readonly lost: readonly SegmentEntry[];
  /** The file of dead rows is: then `live` is said of every row. */
  readonly isLiveUnknown: boolean;
}

export interface RestoreRequest {
  readonly files: SegmentFiles;
  /** UUID of the log. */
  readonly lineage: string;
  /** The store's. */
  readonly head: StoreHead;
  readonly plan: IndexPlan;
  readonly memory: IndexMemory;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  readonly onProblem: (error: unknown) => void;
  readonly signal: CancelSignal;
}

export interface RestoreResult {
  /** `null`: there is nothing that can be used. */
  readonly restored: RestoredIndex | null;
  /** For the next manifest. */
  readonly nextN: number;
}

/** Each asks an object store for some ranges one after the other, where its file is there. */
const OPENED_AT_ONCE = 4;
/** Of one file: the one that is here, and one that is fetched. */
const MOST_COPIES = 2;

export async function restoreIndex(request: RestoreRequest): Promise<RestoreResult> {
  const { files, signal } = request;
  await files.removeUnfinished();
  const { manifest, damaged, nextN } = await readManifest(files, { signal });
  for (const damage of damaged) await setAside(request, damage);
  if (manifest === null || !fits(manifest, request)) return { restored: null, nextN };
  const restored = await openSegments(manifest, request);
  return { restored: restored.segments.length > 0 ? restored : null, nextN };
}

/** Manifests first: a crash between leaves files that no manifest names, not a manifest without its files. */
export async function removeIndexFiles(
  files: SegmentFiles,
  isKept: (name: string) => boolean,
): Promise<void> {
  const doomed = (await files.list()).filter((name) => !isKept(name));
  const isManifest = (name: string): boolean => name.startsWith("manifest-");
  for (const name of [...doomed.filter(isManifest), ...doomed.filter((name) => !isManifest(name))])
    await files.remove(name);
}

function fits(manifest: Manifest, { lineage, head, plan }: RestoreRequest): boolean {
  const known = manifest.head;
  const isBehind = known.sequence > head.sequence || known.nextOffset > head.nextOffset;
  if (manifest.lineage !== lineage || isBehind || known.dimension !== head.dimension) return false;
  return manifest.space === plan.space && plan.sparse.every(({ key }) => manifest.sparse.includes(key));
}

/**
 * What `work` reads; `null`: its file is damaged, which was reported, and set aside, now or before. Once it is set aside there
 * may be another copy of it.
 */
async function orLost<T>(work: () => Promise<T>, request: RestoreRequest): Promise<T | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error;
      const isMissing = error instanceof SegmentMissing;
      const isKnown = isMissing && (await request.files.isQuarantined(error.file));
      if (!isKnown) await setAside(request, error);
      if (isMissing || attempt === MOST_COPIES) return null;
    }
  }
}

async function setAside({ files, onProblem }: RestoreRequest, damage: SegmentDamaged): Promise<void> {
  onProblem(damage);
  await files.quarantine(damage.file);
}

async function openSegments(manifest: Manifest, request: RestoreRequest): Promise<RestoredIndex> {
  const { files, signal } = request;
  const dead = await orLost(() => readDeadRows(files, manifest, { signal }), request);
  const slots = new Slots(OPENED_AT_ONCE);
  const outcomes = await Promise.allSettled(
    manifest.segments.map((file, id) =>
      slots.run(() => orLost(() => openRestored(file, { id, dead, manifest, request }), request)),
    ),
  );
  const opened = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : null));
  const segments = opened.filter((segment) => segment !== null);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined) {
    for (const { segment } of segments) segment.close();
    throw failed.reason;
  }
  const lost = manifest.segments.filter((_, i) => opened[i] === null);
  return { manifest, segments, lost, isLiveUnknown: dead === null };
}

interface RestoredOptions {
  readonly id: number;
  readonly dead: DeadRows | null;
  readonly manifest: Manifest;
  readonly request: RestoreRequest;
}

async function openRestored(
  file: SegmentEntry,
  { id, dead, manifest, request }: RestoredOptions,
): Promise<RestoredSegment> {
  const { files, kernels, memory, plan, signal } = request;
  const live = liveDocs(file, dead?.get(file.name));
  const dimension = manifest.head.dimension ?? 0;
  const shape = { space: plan.space, dimension, plan, kernels, memory, signal };
  const segment = await openSegmentFile(files, file, { ...shape, id });
  if (segment.capacity === file.rows) return { segment, live, file };
  segment.close();
  throw new SegmentDamaged(file.name, null, `it has ${segment.capacity} rows, and not ${file.rows}`);
}

function liveDocs({ name, rows }: SegmentEntry, dead: Uint8Array | undefined): Uint32Array<ArrayBuffer> {
  if (rows % 32 !== 0) throw new SegmentDamaged(name, null, `${rows} docIds are no multiple of 32`);
  const live = new Uint32Array(rows / 32).fill(0xffff_ffff);
  if (dead === undefined) return live;
  const bytes = new DataView(dead.buffer, dead.byteOffset, dead.byteLength);
  for (let word = 0; word < live.length; word++) live[word] = ~bytes.getUint32(word * 4, true);
  return live;
}
