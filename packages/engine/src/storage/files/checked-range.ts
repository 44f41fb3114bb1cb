/** What both kinds of sections have in common: a part of a file that is read in pieces, at once or when it is there. */
import { SegmentDamaged } from "./segment-damaged.ts";
import type { ReadOptions, SegmentFile } from "./segment-files.ts";

/** Bytes that are read at once where a section is gone through: long enough for an object store, soon checked. */
export const PIECE_BYTES = 1024 * 1024;

/** Where bytes are read from: a file, or what was fetched of it. */
export type ByteSource = Pick<SegmentFile, "tryRead">;

/** Bytes of a file that were fetched. */
export class FetchedBytes implements ByteSource {
  readonly bytes: Buffer;
  readonly #position: number;

  private constructor(bytes: Buffer, position: number) {
    this.bytes = bytes;
    this.#position = position;
  }

  /** @param range Places in the file, end excluded. */
  static async read(
    file: SegmentFile,
    [start, end]: readonly [number, number],
    options: ReadOptions,
  ): Promise<FetchedBytes> {
    const bytes = Buffer.allocUnsafe(end - start);
    await file.read(bytes, start, options);
    return new FetchedBytes(bytes, start);
  }

  tryRead(into: Uint8Array, position: number): boolean {
    const from = position - this.#position;
    into.set(this.bytes.subarray(from, from + into.length));
    return true;
  }
}

/**
 * Bytes of a file once `check` has let them pass. Those of a file elsewhere may have changed on their way, so what does not pass is
 * fetched once more before it counts as damaged.
 *
 * @param range Places in the file, end excluded.
 */
export async function fetchChecked(
  file: SegmentFile,
  range: readonly [number, number],
  options: ReadOptions,
  check: (fetched: FetchedBytes) => void,
): Promise<FetchedBytes> {
  const fetched = await FetchedBytes.read(file, range, options);
  try {
    check(fetched);
    return fetched;
  } catch (error) {
    if (file.isLocal || !(error instanceof SegmentDamaged)) throw error;
  }
  const anew = await FetchedBytes.read(file, range, { ...options, isAnew: true });
  check(anew);
  return anew;
}

/** `tryRead` of a section. What a file elsewhere has kept of itself and does not pass `check` is as if it were not there. */
export function tryChecked(file: SegmentFile, check: () => boolean): boolean {
  try {
    return check();
  } catch (error) {
    if (file.isLocal || !(error instanceof SegmentDamaged)) throw error;
    return false;
  }
}

/** What a reader expects of a section, from elsewhere, must be in it. @param end In bytes or rows. */
export function requireWithin(
  file: SegmentFile,
  section: string,
  [end, length]: readonly [number, number],
): void {
  if (end > length)
    throw new SegmentDamaged(file.name, section, `it ends at ${length}, and should go on to ${end} at least`);
}

export function damagedAt(file: SegmentFile, section: string, place: string): SegmentDamaged {
  return new SegmentDamaged(file.name, section, `${place}: the checksum does not match`);
}
