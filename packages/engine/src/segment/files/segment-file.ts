/**
 * The file of a sealed segment: what `SegmentWriter` makes, to be opened again. Opening reads the header, the lists and
 * the directories of metadata and postings; everything else is read when it is first asked for.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type CancelSignal, type IndexPlan, type Space, throwIfAborted } from "@sheaf/protocol";
import type { KernelKind } from "../../kernels/kernel-memory.ts";
import { SegmentDamaged } from "../../storage/files/segment-damaged.ts";
import { IndexMemory } from "../../storage/files/index-memory.ts";
import type { ReadOptions, SegmentFiles } from "../../storage/files/segment-files.ts";
import { type SectionReader, openSections } from "../../storage/files/section-reader.ts";
import { type FileIdentity, type SectionWriter, writeSections } from "../../storage/files/section-writer.ts";
import { DenseSegment } from "../dense/dense-segment.ts";
import { type RowsKept, mostKept } from "../dense/segment-layout.ts";
import { PROBED } from "../dense/list-probe.ts";
import { SegmentSearch } from "../dense/segment-search.ts";
import { PackedDocs } from "../packed-docs.ts";
import { SealedSegment } from "../sealed-segment.ts";
import type { SegmentNeeds } from "../segment.ts";
import type { ReadRelative } from "../source-rows.ts";
import { DenseFile } from "./dense-file.ts";
import { FileDocs, writeDocs } from "./docs-file.ts";
import { LISTS, fillLists, parseLists, writeLists } from "./list-tables.ts";
import { type FileBlocks, openBlocks } from "./open-blocks.ts";
import { type FilePostings, openPostings } from "./open-postings.ts";
import { PartFields } from "../../storage/files/part-fields.ts";
import { HEADER, HEADER_BYTES, type SegmentHeader, decodeHeader, encodeHeader } from "./segment-header.ts";
import { writeBlocks } from "./write-blocks.ts";
import { type Pause, inTurns } from "./write-cells.ts";
import { type ReadWhole, writeCodes, writeVectors } from "./write-dense.ts";
import { writePostings } from "./write-postings.ts";

/** Longest stretch of writing between two turns of the event loop. */
const STRETCH_MS = 2;

export interface WriteSegmentOptions {
  readonly signal?: CancelSignal | undefined;
  /** From the store, for vectors that the segment does not keep; without it they are not in the file either. */
  readonly readVector?: ReadRelative | undefined;
}

/** Writes a sealed segment, which may be closed meanwhile. Whatever ends it leaves no file. */
export function writeSegmentFile(
  files: SegmentFiles,
  name: string,
  segment: SealedSegment,
  { signal, readVector }: WriteSegmentOptions = {},
): Promise<FileIdentity> {
  const pause = pauses(signal);
  return writeSections(files, name, async (writer) => {
    await writeVectorParts(writer, segment, { readVector, pause });
    await writeDocs(writer, segment.docs, pause);
    await writeBlocks(writer, segment.blocks, pause);
    await writePostings(writer, segment.sparse, pause);
  });
}

async function writeVectorParts(
  writer: SectionWriter,
  segment: SealedSegment,
  { readVector, pause }: { readonly readVector: ReadRelative | undefined; readonly pause: Pause },
): Promise<void> {
  const { search, uncoded } = segment.vectors;
  const dense = search.segment;
  const kept = readVector === undefined ? dense.readable : mostKept(dense.shape);
  await writer.stream(HEADER);
  await writer.write(encodeHeader(headerOf(segment, kept)));
  await writeLists(writer, dense, uncoded);
  await writeCodes(writer, dense, pause);
  const readWhole: ReadWhole = (slot, target) => {
    // What bf16 left of a vector is not the vector.
    if (dense.readable === kept && dense.readVector(slot, target)) return;
    const vector = readVector?.(segment, slot) ?? null;
    if (vector === null) target.fill(0);
    else target.set(vector);
  };
  await writeVectors(writer, dense, { kept, readWhole }, pause);
}

function headerOf(segment: SealedSegment, kept: RowsKept): SegmentHeader {
  const { search, uncoded } = segment.vectors;
  const { shape, capacity, lists, reach } = search.segment;
  return {
    space: shape.space,
    dimension: shape.dimension,
    capacity,
    rows: segment.rows,
    lists: lists.slots.length,
    kept,
    hasOrigin: shape.origin !== null,
    hasUncoded: uncoded !== null,
    seed: segment.docs.parts.seed,
    minOffset: segment.minOffset,
    reach,
  };
}

/** A turn of the event loop each time that a stretch is over. */
function pauses(signal: CancelSignal | undefined): Pause {
  let until = 0;
  return async () => {
    if (performance.now() < until) return;
    await nextTurn();
    throwIfAborted(signal);
    until = performance.now() + STRETCH_MS;
  };
}

/**
 * Has what filters look at read from the file of a segment that was made in memory: there columns are ready, and in memory
 * nothing is left of them. Identities and postings stay until others need their room. A file on another machine would have
 * to be fetched first, so then all stays as it is. Throws `SegmentDamaged`.
 */
export async function moveToFile(
  files: SegmentFiles,
  file: FileIdentity,
  segment: SealedSegment,
  options: ReadOptions,
): Promise<void> {
  const reader = await openSections(files, file, options);
  try {
    if (!reader.isLocal) return await reader.close();
    const { capacity, rows, minOffset, docs, memory } = segment;
    const pause = pauses(options.signal);
    const { blocks } = await openBlocks(reader, capacity, { ...options, memory });
    const postings = await openPostings(reader, capacity, { ...options, memory });
    const filed = new FileDocs(reader, { capacity, rows, minOffset, seed: docs.parts.seed }, memory);
    for (const [i, block] of blocks.entries())
      for (const key of segment.blocks[i]!.columns.keys) {
        await inTurns(block.columns.preload(key), pause);
        await pause();
      }
    segment.moveTo({ blocks, docs: filed, postings });
  } catch (error) {
    await reader.close();
    throw error;
  }
}

export interface OpenSegmentOptions {
  /** In its index. */
  readonly id: number;
  readonly space: Space;
  readonly dimension: number;
  /** Has sparse keys of which the file must have postings. */
  readonly plan: IndexPlan;
  /** Without limit if left out. */
  readonly memory?: IndexMemory | undefined;
  /** `plain` for tests: the same results without WASM. */
  readonly kernels?: KernelKind | undefined;
  readonly signal?: CancelSignal | undefined;
}

/** Throws `SegmentDamaged`, as does later whoever asks for a part that is. */
export async function openSegmentFile(
  files: SegmentFiles,
  file: FileIdentity,
  options: OpenSegmentOptions,
): Promise<SealedSegment> {
  const reader = await openSections(files, file, { signal: options.signal });
  try {
    return await openSegment(reader, options);
  } catch (error) {
    await reader.close();
    throw error;
  }
}

async function openSegment(reader: SectionReader, options: OpenSegmentOptions): Promise<SealedSegment> {
  const { id, plan, kernels, signal } = options;
  const memory = (options.memory ?? new IndexMemory()).forSegment();
  const header = decodeHeader(
    reader.name,
    await readStream(reader, HEADER, { signal, length: HEADER_BYTES }),
    options,
  );
  const { space, dimension, capacity, rows, lists } = header;
  const source = new DenseFile(reader, header);
  const damaged = (reason: string): SegmentDamaged => new SegmentDamaged(reader.name, LISTS, reason);
  const tables = parseLists(new PartFields(await readStream(reader, LISTS, { signal }), damaged), header);
  const docs = new FileDocs(reader, header, memory);
  const blocks = await openBlocks(reader, capacity, { signal, memory });
  const postings = await openPostings(reader, capacity, { signal, memory });
  for (const { key, statistics } of plan.sparse) {
    const reason = !postings.byKey.has(key) ? "postings" : "lengths of documents";
    if (!postings.byKey.has(key) || (statistics !== undefined && !postings.hasLengths(key)))
      throw new SegmentDamaged(reader.name, null, `it has no ${reason} of ${key}`);
  }
  const shape = { space, dimension, origin: tables.origin, kernels };
  const segment = new DenseSegment(shape, capacity, { lists }, source);
  fillLists(segment, tables);
  segment.reach = header.reach;
  const search = new SegmentSearch(segment, memory);
  return new SealedSegment({
    ...{ id, rows, search, uncoded: tables.uncoded, memory },
    docs: new PackedDocs(docs),
    blocks: blocks.blocks,
    postings: postings.byKey,
    prepare: (needs, read = {}) => prepareParts({ reader, segment, docs, blocks, postings }, needs, read),
  });
}

interface FileParts {
  readonly reader: SectionReader;
  readonly segment: DenseSegment;
  readonly docs: FileDocs;
  readonly blocks: FileBlocks;
  readonly postings: FilePostings;
}

function prepareParts(
  parts: FileParts,
  needs: SegmentNeeds,
  options: ReadOptions,
): Promise<void> | undefined {
  // Long lists are read in slices, in a folder too; all else is read there when it is asked for.
  const keys = needs.postings === undefined ? [] : unloaded(parts.postings, needs.postings);
  if (parts.reader.isLocal) return keys.length > 0 ? parts.postings.prepare(keys, options) : undefined;
  return prepareLate(parts, { ...needs, postings: keys }, options);
}

function unloaded({ byKey }: FilePostings, keys: Iterable<string>): readonly string[] {
  return [...keys].filter((key) => byKey.get(key)?.isLoaded === false);
}

async function prepareLate(
  { segment, docs, blocks, postings }: FileParts,
  { dense, docs: identities, postings: keys = [], columns, trigrams, metadata }: SegmentNeeds,
  options: ReadOptions,
): Promise<void> {
  // Vectors are fetched once a search knows which.
  if (dense === true && segment.lacks(PROBED)) await segment.fetch(PROBED, options);
  if (identities !== undefined) await docs.prepare({ lookup: identities === "lookup" }, options);
  await postings.prepare(keys, options);
  const filtered = { ...(columns && { columns }), ...(trigrams && { trigrams }) };
  await blocks.prepare({ ...filtered, ...(metadata && { docIds: metadata }) }, options);
}

interface StreamOptions {
  readonly signal: CancelSignal | undefined;
  /** That it must have. */
  readonly length?: number;
}

async function readStream(
  reader: SectionReader,
  name: string,
  { signal, length }: StreamOptions,
): Promise<Buffer> {
  const section = reader.stream(name);
  if (length !== undefined && section.length !== length)
    throw new SegmentDamaged(reader.name, name, `${section.length} bytes instead of ${length}`);
  const bytes = Buffer.allocUnsafeSlow(section.length);
  if (!section.tryRead(bytes, 0)) await section.read(bytes, 0, { signal });
  return bytes;
}
