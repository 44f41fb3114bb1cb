/** What the end of an archive says: where it goes on, which commits of the catalog it knows last, and which backups. */
import { type BaseBody, decodeBase, decodePosition } from "./archive-entries.ts";
import { ENTRY_KIND, listSegments } from "./archive-format.ts";
import { type ArchiveEnd, readArchive, readSegmentHeader } from "./read-archive.ts";

/** Commits of the catalog in the last segments. */
export interface LastCommits {
  /** Of the last two that are not void. */
  readonly positions: readonly number[];
  /** Position that these segments begin with. */
  readonly first: number;
}

export interface LastEntries {
  readonly end: ArchiveEnd;
  readonly commits: LastCommits;
  /** With the chains that they belong to. */
  readonly bases: readonly ChainBase[];
}

/** Of the last two segments: a catalog commit of which nobody knows lies there. */
export function lastEntries(folder: string): LastEntries {
  const segments = listSegments(folder);
  const first = segments.at(-2) ?? segments.at(-1);
  let positions: readonly number[] = [];
  const bases: ChainBase[] = [];
  if (first === undefined) return { end: EMPTY, commits: { positions, first: 0 }, bases };
  const entries = readArchive(folder, first.first - 1);
  for (;;) {
    const next = entries.next();
    if (next.done === true) {
      const chain = next.value.chain ?? readSegmentHeader(first)?.chain ?? null;
      return {
        end: { ...next.value, chain, position: lastPosition(next.value) },
        commits: { positions, first: first.first },
        bases,
      };
    }
    const { kind, position, body, chain } = next.value;
    if (kind === ENTRY_KIND.catalog) positions = [...positions, position].slice(-3);
    else if (kind === ENTRY_KIND.void) positions = without(positions, decodePosition(body));
    else if (kind === ENTRY_KIND.base) bases.push({ ...decodeBase(body), chain });
  }

  /** Behind a damaged entry there may be later ones, whose positions are taken. */
  function lastPosition(end: ArchiveEnd): number {
    return end.problem === null ? end.position : Math.max(end.position, segments.at(-1)!.first) + 2 ** 24;
  }
}

/** The entry of a backup, from the end on. All of the archive is read where that is gone. */
export function findBase(folder: string, id: string): BaseBody | null {
  let next = Infinity;
  for (const { first } of listSegments(folder).toReversed()) {
    for (const { kind, position, body } of readArchive(folder, first - 1)) {
      if (position >= next) break;
      if (kind !== ENTRY_KIND.base) continue;
      const base = decodeBase(body);
      if (base.id === id) return base;
    }
    next = first;
  }
  return null;
}

const EMPTY: ArchiveEnd = {
  ...{ position: 0, time: null, chain: null },
  ...{ problem: null, segment: null, bytes: 0 },
};

function without(positions: readonly number[], voided: number): readonly number[] {
  return positions.filter((position) => position !== voided);
}

export interface ChainBase extends BaseBody {
  readonly chain: string;
}
