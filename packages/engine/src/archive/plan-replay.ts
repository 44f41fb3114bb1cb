/**
 * Finds out, before anything is written, whether a backup and an archive lead to some moment: reads every entry between, and
 * refuses what is damaged, missing or of another past, by name.
 */
import { SheafError } from "@sheaf/protocol";
import type { BackupArchive, BackupHeader } from "../backup/backup-files.ts";
import { decodeChangeHead, decodeClock, decodePosition } from "./archive-entries.ts";
import { ENTRY_KIND, listSegments } from "./archive-format.ts";
import { sealOf } from "./entry-seal.ts";
import { type ArchiveEnd, readArchive } from "./read-archive.ts";
import { type SetBackClock, SetBackClocks } from "./set-back-clocks.ts";

/** `null`: as far as the archive goes. */
export type ReplayTarget =
  | { readonly position: number }
  /** Milliseconds since 1970: everything up to and in it. */
  | { readonly time: number }
  | null;

export interface Replay {
  readonly archive: string;
  /** Entries above it are replayed … */
  readonly from: number;
  /** … up to and with this one. */
  readonly to: number;
  /** Positions of commits of the catalog that were not done. */
  readonly voided: readonly number[];
}

export interface PlannedReplay extends Replay {
  /** Of the last entry that is replayed, in ms; `null`: none is. */
  readonly time: number | null;
  /** Position of the last entry that the archive can be followed to. */
  readonly end: number;
  /** What is wrong behind it; `null`: it is the archive's last one. */
  readonly problem: string | null;
  /** Bytes of the entries of each collection, by its id. */
  readonly bytes: ReadonlyMap<string, number>;
  /** Where a clock was set back: of a time, stretches that are not replayed and may be meant. */
  readonly setBack: readonly SetBackClock[];
}

/** Throws `failed_precondition`, and `invalid_argument` for a moment that they do not lead to. */
export function planReplay(
  archive: string,
  { archive: base, started, finished }: Pick<BackupHeader, "archive" | "started" | "finished">,
  target: ReplayTarget,
): PlannedReplay {
  if (base === null || base === undefined)
    throw refused("the backup was made by a server without --archive, so no archive goes on from it");
  if (listSegments(archive).length === 0)
    throw new SheafError("invalid_argument", `${archive} holds no archive of Sheaf`);
  const scan = scanArchive(archive, base, target);
  const { to, time, chain, end } = scan;
  const isReached = target === null || "time" in target || target.position <= to;
  const isEarly =
    to < base.to ||
    (target !== null && "time" in target && target.time < started) ||
    (target !== null && "position" in target && target.position < base.to);
  if (end.problem !== null && (!isReached || isEarly || target === null || "time" in target) && !scan.isPast)
    throw refused(`the archive can be followed up to entry ${end.position} only: ${end.problem}`);
  if (chain !== null && chain !== base.chain)
    throw refused(
      `the archive was interrupted after entry ${scan.chainEnd}: later entries are of another chain, which begins at a later backup. ` +
        `Up to entry ${scan.chainEnd} this backup can be restored`,
    );
  const seal = base.seal == null ? null : sealOf(archive, base.to);
  if (seal !== null && (seal.time !== base.seal!.time || seal.crc !== base.seal!.crc))
    throw refused(
      `entry ${base.to} of the archive, ${new Date(seal.time).toISOString()}, is another one than the backup goes on from: ` +
        "the archive was set back to an earlier time after the backup was made. Restore a backup of before that time, or this one without the archive",
    );
  if (isEarly)
    throw new SheafError(
      "invalid_argument",
      to < base.to && target === null
        ? `the archive ends at entry ${end.position}, and the backup needs it up to entry ${base.to}`
        : `the backup is one state from entry ${base.to} on, which it reached when it was finished, ${new Date(finished).toISOString()}; ` +
            "for an earlier moment restore an earlier one",
    );
  if (!isReached)
    throw new SheafError(
      "invalid_argument",
      `the archive ends at entry ${end.position}${time === null ? "" : `, ${new Date(time).toISOString()}`}`,
    );
  const { voided, bytes, clocks } = scan;
  const setBack = clocks.filter(({ from, wanted }) => target === null || (from > to && wanted !== null));
  const { position, problem } = end;
  return { archive, from: base.from, to, voided, time, end: position, problem, bytes, setBack };
}

interface Scanned {
  readonly to: number;
  readonly time: number | null;
  readonly voided: readonly number[];
  readonly bytes: ReadonlyMap<string, number>;
  /** Of an entry that should be replayed and is of another chain; `null`: there is none. */
  readonly chain: string | null;
  /** Last position of the chain of the backup. */
  readonly chainEnd: number;
  /** An entry behind the moment was seen. */
  readonly isPast: boolean;
  readonly clocks: readonly SetBackClock[];
  readonly end: ArchiveEnd;
}

function scanArchive(archive: string, base: BackupArchive, target: ReplayTarget): Scanned {
  const voided: number[] = [];
  let to = base.from;
  let chainEnd = base.from;
  let [time, chain]: [number | null, string | null] = [null, null];
  let isPast = false;
  const bytes = new Map<string, number>();
  const clocks = new SetBackClocks(target !== null && "time" in target ? target.time : -Infinity);
  const entries = readArchive(archive, base.from);
  for (;;) {
    const next = entries.next();
    if (next.done === true)
      return { to, time, voided, bytes, chain, chainEnd, isPast, clocks: clocks.found, end: next.value };
    const entry = next.value;
    // Behind the moment nothing counts but what became of a commit before it.
    const isBehind =
      target !== null && ("position" in target ? entry.position > target.position : entry.time > target.time);
    isPast ||= isBehind;
    const clock = entry.kind === ENTRY_KIND.void ? decodeClock(entry.body) : null;
    if (entry.chain === base.chain) clocks.see(entry, clock);
    if (entry.kind === ENTRY_KIND.void && clock === null) voided.push(decodePosition(entry.body));
    if (isBehind) continue;
    if (entry.chain !== base.chain) chain ??= entry.chain;
    else chainEnd = entry.position;
    [to, time] = [entry.position, entry.time];
    if (entry.kind !== ENTRY_KIND.change) continue;
    const { collection } = decodeChangeHead(entry.body);
    bytes.set(collection, (bytes.get(collection) ?? 0) + entry.body.length);
  }
}

function refused(message: string): SheafError {
  return new SheafError("failed_precondition", message);
}
