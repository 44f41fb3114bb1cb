/**
 * Walks the pages of an LMDB file and holds them to what LMDB takes for granted: every page is the one its parent
 * means, of the right kind, reached once and inside the file; every node lies inside its page; keys ascend and keep
 * to the bounds that the pages above give; the totals are those of the meta page. What cannot be followed is reported
 * and left out, and the walk goes on beside it.
 */
import type { Entry } from "../entries.ts";
import { DamagedFile, LmdbFile, type LmdbTree, PAGE_HEADER_BYTES } from "./lmdb-file.ts";

const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
const NODE_HEADER_BYTES = 8;
const NODE_IS_BIG = 0x01;
/** First page, transaction and number of pages. */
const REFERENCE_BYTES = 24;
const FIRST_DATA_PAGE = 2;

export type ReportDamage = (problem: string) => void;

interface Place {
  readonly page: number;
  /** Of the tree, from 1 at its root. */
  readonly depth: number;
  /** Included; `null`: any. */
  readonly low: Buffer | null;
  /** Excluded; `null`: any. */
  readonly high: Buffer | null;
}

/** A branch has children, a leaf values or what leads to one that spans pages. */
type Node = { readonly key: Buffer } & (
  | { readonly kind: "child"; readonly page: number }
  | { readonly kind: "value"; readonly value: Buffer }
  | { readonly kind: "reference"; readonly page: number; readonly pages: number; readonly bytes: number }
);

type Reference = Extract<Node, { readonly kind: "reference" }>;

interface Totals {
  branch: number;
  leaf: number;
  overflow: number;
  entries: number;
}

export class PageWalk {
  readonly #file: LmdbFile;
  readonly #report: ReportDamage;
  /** One byte per page: reached already. */
  readonly #seen: Uint8Array;
  #intact = true;

  constructor(file: LmdbFile, report: ReportDamage) {
    this.#file = file;
    this.#report = (problem) => {
      this.#intact = false;
      report(problem);
    };
    this.#seen = new Uint8Array(Math.min(file.meta.lastPage + 1, file.pages));
  }

  /** Everything that can be reached, in order. */
  entries(): Generator<Entry> {
    return this.#walk(this.#file.meta.main, "entries", true);
  }

  /**
   * The tree that lists the free pages; to be called after `entries` has come to its end. What its lists say is not
   * judged: their form is lmdb-js's own (runs, gaps, lists that go on in the next), and healthy data must never be
   * refused.
   */
  checkFreePages(): void {
    const lists = this.#walk(this.#file.meta.free, "free pages", false);
    while (lists.next().done !== true);
  }

  *#walk(tree: LmdbTree, name: string, ordered: boolean): Generator<Entry> {
    const totals: Totals = { branch: 0, leaf: 0, overflow: 0, entries: 0 };
    if (tree.root !== null) {
      yield* this.#below({ page: tree.root, depth: 1, low: null, high: null }, { tree, totals, ordered });
    }
    const same =
      totals.branch === tree.branchPages &&
      totals.leaf === tree.leafPages &&
      totals.overflow === tree.overflowPages &&
      totals.entries === tree.entries;
    if (this.#intact && !same) this.#report(`the tree of ${name} is not what the meta page says of it`);
  }

  *#below(
    place: Place,
    walk: { readonly tree: LmdbTree; readonly totals: Totals; readonly ordered: boolean },
  ): Generator<Entry> {
    const { tree, totals, ordered } = walk;
    const isLeaf = place.depth === tree.depth;
    const page = this.#take(place.page, 1, isLeaf ? LEAF : BRANCH);
    if (page === null) return;
    totals[isLeaf ? "leaf" : "branch"] += 1;
    const nodes = this.#nodes(page, place.page, isLeaf);
    if (ordered) this.#checkOrder(nodes, place, isLeaf);
    for (const [i, node] of nodes.entries()) {
      if (node.kind === "child") {
        const low = i === 0 ? place.low : node.key;
        const high = nodes[i + 1]?.key ?? place.high;
        yield* this.#below({ page: node.page, depth: place.depth + 1, low, high }, walk);
      } else {
        totals.entries += 1;
        const value = node.kind === "value" ? node.value : this.#longValue(node, totals);
        if (value !== null) yield { key: node.key, value };
      }
    }
  }

  #checkOrder(nodes: readonly Node[], { page, low, high }: Place, isLeaf: boolean): void {
    let before = low;
    for (const [i, { key }] of nodes.entries()) {
      // The first key of a branch stands for everything below the second.
      if (i === 0 && !isLeaf) continue;
      const ascends = before === null || before.compare(key) < (i === 0 ? 1 : 0);
      if (!ascends || (high !== null && key.compare(high) >= 0)) {
        this.#report(`page ${page}: key ${i} is out of order`);
      }
      before = key;
    }
  }

  /** The pages, if they are there, of that kind, and not in use by anything else. */
  #take(page: number, count: number, kind: number): Buffer | null {
    const refuse = (problem: string): null => {
      this.#report(`page ${page}: ${problem}`);
      return null;
    };
    if (page < FIRST_DATA_PAGE || page + count - 1 > this.#file.meta.lastPage)
      return refuse("is none of the file's");
    const bytes = this.#file.read(page, count);
    if (bytes === null) return refuse(`lies beyond the end of the file at byte ${this.#file.bytes}`);
    if (Number(bytes.readBigUInt64LE(0)) !== page) return refuse("says it is another page");
    if (bytes.readUInt16LE(18) !== kind)
      return refuse(`is of kind ${bytes.readUInt16LE(18)} instead of ${kind}`);
    if (bytes.readBigUInt64LE(8) > this.#file.meta.transaction) return refuse("is newer than the file");
    if (this.#seen.subarray(page, page + count).includes(1)) return refuse("is reached twice");
    this.#seen.fill(1, page, page + count);
    return bytes;
  }

  #nodes(page: Buffer, number: number, isLeaf: boolean): readonly Node[] {
    const room = page.length - PAGE_HEADER_BYTES;
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    if (lower % 2 !== 0 || lower > upper || upper > room) {
      this.#report(`page ${number}: its bounds cannot be`);
      return [];
    }
    const nodes: Node[] = [];
    for (let i = 0; i < lower / 2; i++) {
      const at = page.readUInt16LE(PAGE_HEADER_BYTES + 2 * i);
      const node = at < upper || at + NODE_HEADER_BYTES > room ? null : readNode(page, at, isLeaf);
      if (node === null) this.#report(`page ${number}: node ${i} does not lie inside it`);
      else nodes.push(node);
    }
    if (nodes.length === 0 && lower === 0) this.#report(`page ${number}: is empty`);
    return nodes;
  }

  #longValue({ page, pages, bytes }: Reference, totals: Totals): Buffer | null {
    const fits = bytes <= pages * this.#file.meta.pageSize - PAGE_HEADER_BYTES;
    if (!fits) this.#report(`page ${page}: ${pages} pages cannot hold a value of ${bytes} bytes`);
    const value = fits ? this.#take(page, pages, OVERFLOW) : null;
    if (value === null) return null;
    totals.overflow += pages;
    return value.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + bytes);
  }
}

/** `null`: it does not end inside the page, or is of a kind that Sheaf never writes. */
function readNode(page: Buffer, place: number, isLeaf: boolean): Node | null {
  const at = PAGE_HEADER_BYTES + place;
  const number = page.readUInt32LE(at);
  const flags = page.readUInt16LE(at + 4);
  const keyEnd = at + NODE_HEADER_BYTES + page.readUInt16LE(at + 6);
  if (keyEnd > page.length) return null;
  const key = page.subarray(at + NODE_HEADER_BYTES, keyEnd);
  if (!isLeaf) return { key, kind: "child", page: number + flags * 2 ** 32 };
  if (flags === 0) {
    const end = keyEnd + number;
    return end > page.length ? null : { key, kind: "value", value: page.subarray(keyEnd, end) };
  }
  if (flags !== NODE_IS_BIG || keyEnd + REFERENCE_BYTES > page.length) return null;
  const first = Number(page.readBigUInt64LE(keyEnd));
  const pages = Number(page.readBigUInt64LE(keyEnd + 16));
  return { key, kind: "reference", page: first, pages, bytes: number };
}

/** Throws `DamagedFile` with the first thing that is wrong. `visit` is given each entry. */
export function checkPages(file: LmdbFile, visit: (entry: Entry) => void): void {
  const walk = new PageWalk(file, (problem) => {
    throw new DamagedFile(problem);
  });
  for (const entry of walk.entries()) visit(entry);
  walk.checkFreePages();
}
