/**
 * Changes the index files of a small collection and opens it: it must answer as an index that was made of the records, or
 * say for a while that it is being rebuilt, and then answer so.
 */
import { isDeepStrictEqual } from "node:util";
import type { SheafError } from "@sheaf/protocol";
import {
  ROW_CHECKSUM_BYTES,
  TRAILER_BYTES,
  decodeFooter,
  decodeTrailer,
} from "../../../storage/files/footer.ts";
import { MemoryFiles } from "../../../storage/files/memory-files.ts";
import { openAnySections } from "../../../storage/files/section-reader.ts";
import { SegmentDamaged } from "../../../storage/files/segment-damaged.ts";
import { RecordedFiles } from "./recorded-files.ts";
import { type Files, SweptCollection } from "./swept-collection.ts";

/** Bytes of a file that belong together. */
export interface SweptPart {
  readonly file: string;
  /** Of the section; `padding` behind one, `footer` behind the last. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Bytes of a row with its checksum; `null`: it has none. */
  readonly stride: number | null;
}

/** What is changed; `null`: the file is removed. */
export type FileChanges = ReadonlyMap<string, Uint8Array | null>;

export interface SweepOutcome {
  /** Files that were found damaged or missing before their collection answered. */
  readonly found: readonly string[];
  /** How often it was opened until it answered. */
  readonly openings: number;
}

interface Tried extends SweepOutcome {
  /** Of the first opening until it had answered, 1 for each byte that was read. */
  readonly read: Files;
  readonly reads: RecordedFiles["reads"];
}

const READING_RUNS = 5;
/** Each one that does not answer sets a file aside. */
const MOST_OPENINGS = 8;

export class DamageSweep {
  readonly collection: SweptCollection;
  /** Of an index that was made of the records. */
  readonly #expected: readonly unknown[];

  private constructor(collection: SweptCollection, expected: readonly unknown[]) {
    this.collection = collection;
    this.#expected = expected;
  }

  static async make(): Promise<DamageSweep> {
    const swept = await SweptCollection.make();
    const { collection } = await swept.open(null);
    const expected = await swept.answers(collection);
    await collection.close();
    // What the store keeps is part of all answers.
    return new DamageSweep(swept, structuredClone(expected));
  }

  get files(): Files {
    return this.collection.files;
  }

  /** All bytes of a file, in order. */
  parts(file: string): readonly SweptPart[] {
    const bytes = Buffer.from(this.files.get(file)!);
    const { footerBytes } = decodeTrailer(file, bytes, bytes.length);
    const end = bytes.length - TRAILER_BYTES - footerBytes;
    const { sections } = decodeFooter(file, bytes.subarray(end), bytes.length);
    const parts: SweptPart[] = [];
    let at = 0;
    for (const section of sections) {
      const { name, offset, length } = section;
      if (offset > at) parts.push({ file, name: "padding", from: at, to: offset, stride: null });
      const stride = "rowBytes" in section ? section.rowBytes + ROW_CHECKSUM_BYTES : null;
      parts.push({ file, name, from: offset, to: offset + length, stride });
      at = offset + length;
    }
    return [...parts, { file, name: "footer", from: at, to: bytes.length, stride: null }];
  }

  /** Which bytes are read until all is answered, 1 for each; by every run, for the background of a slow one reads more. */
  async readBytes(): Promise<Files> {
    const read = await this.#readOnce();
    for (let run = 1; run < READING_RUNS; run++)
      for (const [file, again] of await this.#readOnce())
        read.set(
          file,
          read.get(file)!.map((byte, i) => byte & again[i]!),
        );
    return read;
  }

  async #readOnce(): Promise<Map<string, Uint8Array>> {
    const files = new RecordedFiles(new Map(this.files));
    const { collection } = await this.collection.open(files);
    this.#require(await this.collection.answers(collection));
    await collection.close();
    return this.#withFooters(files.read);
  }

  #withFooters(read: Map<string, Uint8Array>): Map<string, Uint8Array> {
    for (const [file, bytes] of read) {
      if (!this.files.has(file)) continue;
      const footer = this.parts(file).at(-1)!;
      bytes.fill(1, footer.from, footer.to);
    }
    return read;
  }

  /**
   * One byte of a file changed: `false` where nothing was found and all answers were right all the same. Rejects where an
   * answer is wrong, where the byte was read and not found, unless that may have been before it changed or beside others, and
   * where another file was found.
   */
  async flip(file: string, at: number, isOpen = false): Promise<boolean> {
    const bytes = flipped(this.files.get(file)!, at, 1 << ((at * 5) % 8));
    const { found, read, reads } = await this.#try(new Map([[file, bytes]]), isOpen);
    if (found.some((name) => name !== file)) throw new Error(`found in ${found.join()}`);
    const { stride } = this.parts(file).find(({ to }) => at < to)!;
    // Rows that lie between others are read with these, and left alone: the first and the last one are wanted.
    const isWanted = ([from, to]: readonly [number, number]): boolean =>
      at >= from && at < to && (stride === null || at < from + stride || at >= to - stride);
    const isRead = read.get(file)?.[at] === 1 && (stride === null || reads.get(file)!.some(isWanted));
    if (isRead && !isOpen && found.length === 0) throw new Error("it was read and not found");
    return found.length > 0;
  }

  /** Rejects where an answer is wrong. */
  async outcomeOf(changes: FileChanges): Promise<SweepOutcome> {
    const { found, openings } = await this.#try(changes, false);
    return { found, openings };
  }

  /** `isOpen`: the files change once they are open. */
  async #try(changes: FileChanges, isOpen: boolean): Promise<Tried> {
    const disk = new Map(this.files);
    if (isOpen) for (const name of changes.keys()) disk.set(name, Uint8Array.from(disk.get(name)!));
    else change(disk, changes);
    const found: string[] = [];
    let read: Map<string, Uint8Array> | null = null;
    let reads: RecordedFiles["reads"] = new Map();
    for (let openings = 1; openings <= MOST_OPENINGS; openings++) {
      const files = new RecordedFiles(disk);
      const { collection, problems } = await this.collection.open(files);
      if (isOpen && openings === 1) overwrite(disk, changes);
      let answers: readonly unknown[] | null = null;
      try {
        answers = await this.collection.answers(collection);
      } catch (error) {
        requireRebuilding(collection.explain(error));
      } finally {
        if (read === null) reads = new Map([...files.reads].map(([file, some]) => [file, [...some]]));
        read ??= new Map([...files.read].map(([file, bytes]) => [file, bytes.slice()]));
        await collection.close();
      }
      found.push(...problems.map(fileOf));
      if (answers === null) continue;
      this.#require(answers);
      return { found, openings, read: this.#withFooters(read), reads };
    }
    throw new Error(`it does not answer after ${MOST_OPENINGS} openings`);
  }

  #require(answers: readonly unknown[]): void {
    if (!isDeepStrictEqual(answers, this.#expected)) throw new Error("the answers differ");
  }
}

/** Whether it is found damaged by who reads the whole file for that alone. */
export async function isFoundByVerifying(file: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const reader = await openAnySections(new MemoryFiles(new Map([[file, bytes]])), file);
    const verification = reader!.verify();
    for (let done = false; !done;) done = (await verification.next()).done === true;
    return false;
  } catch (error) {
    if (error instanceof SegmentDamaged) return true;
    throw error;
  }
}

export function flipped(bytes: Uint8Array, at: number, mask: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at]! ^= mask;
  return changed;
}

function change(disk: Map<string, Uint8Array>, changes: FileChanges): void {
  for (const [name, bytes] of changes)
    if (bytes === null) disk.delete(name);
    else disk.set(name, bytes);
}

/** In place, so that who has opened the file reads it; of those of the same length alone. */
function overwrite(disk: Files, changes: FileChanges): void {
  for (const [name, bytes] of changes) disk.get(name)!.set(bytes!);
}

function requireRebuilding(error: unknown): void {
  if ((error as SheafError).code !== "unavailable") throw error;
}

function fileOf(problem: unknown): string {
  if (problem instanceof SegmentDamaged) return problem.file;
  throw problem;
}
