/**
 * Tells an entry from others at the same position: an archive that is set back together with its data folder, as in a snapshot
 * of a machine, goes on in the same chain, and a backup of the time that was given up must not be followed by entries of the new one.
 */
import { crc32 } from "node:zlib";
import { readArchive } from "./read-archive.ts";

export interface EntrySeal {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** CRC-32 of the body. */
  readonly crc: number;
}

/** `null`: the archive has no such entry, or none any more. */
export function sealOf(archive: string, position: number): EntrySeal | null {
  if (position === 0) return null;
  const next = readArchive(archive, position - 1).next();
  if (next.done === true || next.value.position !== position) return null;
  return { time: next.value.time, crc: crc32(next.value.body) };
}
