/**
 * The facets of a selection: for each key how often which values occur, exactly. Of each key all values are counted at
 * once where they take little memory, else part by part, one key at a time over all calls, tenants in turn.
 */
import {
  type Facet,
  type FacetBucket,
  type FacetsRequest,
  LIMITS,
  type MetadataKind,
  SheafError,
} from "@sheaf/protocol";
import type { IndexSnapshot } from "../../index/index-snapshot.ts";
import type { RowSet } from "../../index/row-set.ts";
import { BLOCK_WORDS } from "../../segment/block-docs.ts";
import type { DocBlock } from "../../segment/doc-block.ts";
import { TurnLock } from "../../storage/turn-lock.ts";
import type { Pace } from "../pace.ts";
import { numberKinds, tallyBlock } from "./block-tally.ts";
import { Histogram } from "./histogram.ts";
import { TopValues } from "./top-values.ts";
import { type TalliedValue, type TallyPart, ValueTally, numberOf } from "./value-tally.ts";

/** Bytes of values of a key that any number of calls may hold, and that one call may. */
export const DEFAULT_ROOM: TallyRoom = { small: 1024 * 1024, large: 32 * 1024 * 1024 };
/** Into so many more parts a key is divided whose parts were too large, and the most that it is. */
const MORE_PARTS = 4;
const MAX_PARTS = 4_096;
const ENTRIES_PER_BREATH = 1_024;

const largeTallies = new TurnLock();

export interface TallyRoom {
  readonly small: number;
  readonly large: number;
}

export interface FacetContext {
  readonly snapshot: IndexSnapshot;
  readonly pace: Pace;
  /** Kinds that the values of a key may have; `undefined`: any. */
  readonly kindsOf: (key: string) => ReadonlySet<MetadataKind> | undefined;
  readonly room?: TallyRoom;
}

/** Rows of a block. */
interface Share {
  readonly block: DocBlock;
  readonly wanted: Uint32Array;
}

/** Rows, wherever they are. */
export interface TalliedRows {
  readonly count: number;
  /** How often they have the values of a key; `null`: there is no room for that. */
  tally(key: string, part: TallyPart, hasRoom: HasRoom): Promise<ValueTally | null>;
}

/** Whether a tally may be as large as it is; waits for its turn where need be. */
export type HasRoom = (tally: ValueTally) => Promise<boolean>;

/** What a key is counted with. */
interface Counting extends Pick<FacetsRequest, "limit" | "histogram"> {
  readonly key: string;
  readonly rows: TalliedRows;
  readonly pace: Pace;
  readonly room: TallyRoom;
}

export function countFacets(
  request: FacetsRequest,
  rows: RowSet,
  context: FacetContext,
): Promise<readonly Facet[]> {
  return facetsOf(request, talliedRows(rows, context), context);
}

export function talliedRows(
  rows: RowSet,
  { snapshot, pace, kindsOf }: Pick<FacetContext, "snapshot" | "pace" | "kindsOf">,
): TalliedRows {
  const shares = sharesOf(rows, snapshot);
  return {
    count: snapshot.countOf(rows),
    tally: (key, part, hasRoom) => tallyShares(shares, part, { key, kindsOf, pace, hasRoom }),
  };
}

export async function facetsOf(
  { keys, limit, histogram }: FacetsRequest,
  rows: TalliedRows,
  { pace, room = DEFAULT_ROOM }: Pick<FacetContext, "pace" | "room">,
): Promise<readonly Facet[]> {
  const counting = { limit, histogram, rows, pace, room };
  const facets: Facet[] = [];
  let characters = 0;
  for (const key of keys) {
    const facet = await countFacet({ ...counting, key });
    for (const { value } of facet.values) if (typeof value === "string") characters += value.length;
    if (characters > LIMITS.facetCharacters) throw tooLong();
    facets.push(facet);
    await pace.breathe();
  }
  return facets;
}

function sharesOf(rows: RowSet, { blocks }: IndexSnapshot): readonly Share[] {
  const shares: Share[] = [];
  for (const [i, block] of blocks.entries()) {
    const wanted = rows.words.subarray(i * BLOCK_WORDS, (i + 1) * BLOCK_WORDS);
    if (block !== undefined && wanted.some((word) => word !== 0)) shares.push({ block, wanted });
  }
  return shares;
}

async function countFacet(counting: Counting): Promise<Facet> {
  const { pace, room } = counting;
  const facet = await withRoom(pace, room, async (hasRoom) => {
    for (let parts = 1; parts <= MAX_PARTS; parts *= MORE_PARTS) {
      const counted = await countIn(counting, parts, hasRoom);
      if (counted !== null) return counted;
    }
    return null;
  });
  if (facet !== null) return facet;
  throw new SheafError("too_large", `keys: "${counting.key}" has too many different values to count them`);
}

/** A key whose values take little memory is counted whatever others are; of the others one at a time. */
export async function withRoom<T>(
  { tenant }: Pick<Pace, "tenant">,
  { small, large }: TallyRoom,
  count: (hasRoom: HasRoom) => Promise<T>,
): Promise<T> {
  let leave: (() => void) | null = null;
  const hasRoom = async ({ heldBytes }: ValueTally): Promise<boolean> => {
    if (heldBytes > small) leave ??= await largeTallies.enter(tenant);
    return heldBytes <= large;
  };
  try {
    return await count(hasRoom);
  } finally {
    (leave as (() => void) | null)?.();
  }
}

/** `null`: a part was too large. */
async function countIn(counting: Counting, parts: number, hasRoom: HasRoom): Promise<Facet | null> {
  const { key, limit, histogram, rows, pace } = counting;
  const top = new TopValues(limit);
  const range = new NumberRange();
  let occurrences = 0;
  let tally: ValueTally | null = null;
  for (let part = 0; part < parts; part++) {
    tally = await rows.tally(key, { part, parts }, hasRoom);
    if (tally === null) return null;
    occurrences += tally.unlisted;
    await forEntries(tally, pace, (value) => {
      top.push(value);
      range.add(value);
      occurrences += value.count;
    });
  }
  const values = top.sorted();
  const listed = values.reduce((sum, { count }) => sum + count, 0);
  return {
    ...{ key, values, missing: rows.count - (tally?.holders ?? 0), other: occurrences - listed },
    ...{ min: range.min, max: range.max },
    histogram: histogram === null ? null : await bucketsOf(counting, range, { parts, tally, hasRoom }),
  };
}

/** `tally`: of the only part, which need not be counted again. */
async function bucketsOf(
  counting: Counting,
  { min, max }: NumberRange,
  { parts, tally, hasRoom }: { parts: number; tally: ValueTally | null; hasRoom: HasRoom },
): Promise<readonly FacetBucket[]> {
  const { key, rows, histogram, pace } = counting;
  if (min === null || max === null) return [];
  const buckets = new Histogram(Number(min), Number(max), histogram ?? 1);
  for (let part = 0; part < parts; part++) {
    const counted = parts === 1 ? tally : await rows.tally(key, { part, parts }, hasRoom);
    if (counted === null) continue;
    await forEntries(counted, pace, ({ number, count }) => {
      if (number !== null) buckets.add(number, count);
    });
  }
  return buckets.buckets();
}

/** `null`: it is too large. */
async function tallyShares(
  shares: readonly Share[],
  part: TallyPart,
  {
    key,
    kindsOf,
    pace,
    hasRoom,
  }: Pick<FacetContext, "kindsOf" | "pace"> & { readonly key: string; readonly hasRoom: HasRoom },
): Promise<ValueTally | null> {
  const tally = new ValueTally(part);
  const tallied = { key, tally, kinds: numberKinds(kindsOf(key)) };
  for (const { block, wanted } of shares) {
    const work = tallyBlock(block, wanted, tallied);
    for (let isDone = false; !isDone;) {
      isDone = work.next().done === true;
      if (!(await hasRoom(tally))) return null;
      await pace.breathe();
    }
  }
  return tally;
}

async function forEntries(tally: ValueTally, pace: Pace, use: (value: TalliedValue) => void): Promise<void> {
  for (const list of tally.lists()) {
    for (let place = 0; place < list.length; place++) {
      use(list.at(place));
      if ((place + 1) % ENTRIES_PER_BREATH === 0) await pace.breathe();
    }
  }
}

/** The least and the greatest number; of an integer and a float that are equal the integer. */
class NumberRange {
  #least: RangeEnd | null = null;
  #greatest: RangeEnd | null = null;

  get min(): bigint | number | null {
    return this.#least && numberOf(this.#least);
  }

  get max(): bigint | number | null {
    return this.#greatest && numberOf(this.#greatest);
  }

  /** Integers before floats. Compared by value: JavaScript does so without rounding. */
  add({ number, isInteger }: TalliedValue): void {
    if (number === null) return;
    if (this.#least === null || number < this.#least.number) this.#least = { number, isInteger };
    if (this.#greatest === null || number > this.#greatest.number) this.#greatest = { number, isInteger };
  }
}

/** Its value is made at the end only: for an integer that takes longer than everything else. */
interface RangeEnd {
  readonly number: bigint | number;
  readonly isInteger: boolean;
}

function tooLong(): SheafError {
  return new SheafError(
    "too_large",
    `keys: the texts of all facets are over ${LIMITS.facetCharacters} characters; ask for fewer keys, or for fewer values with limit`,
  );
}
