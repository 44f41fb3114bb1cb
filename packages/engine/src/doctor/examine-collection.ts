/**
 * Everything that can be wrong with the files of one collection: pages, checksums, ids that do not lead to their
 * records, and what the catalog knows that the files do not.
 */
import { existsSync } from "node:fs";
import type { Collection } from "@sheaf/protocol";
import { requireCaughtUp } from "../collection/require-caught-up.ts";
import { DataFolder, collectionName } from "../storage/folder/data-folder.ts";
import { decodeChangeRuns, lastSequence } from "../storage/values/change-runs.ts";
import { RECORD_KEYS, readId, readOffset, readSequence } from "../storage/lmdb/record-keys.ts";
import { EMPTY_HEAD, type StoreHead } from "../storage/record-store.ts";
import { type StoreCounts, decodeHead, decodeRecord } from "../storage/values/value-codec.ts";
import { type Examination, type Finding, describe, summarize } from "./finding.ts";
import { readEntries } from "./read-entries.ts";

/** What the catalog says of a collection, as far as its files have to agree. */
export type KnownCollection = Pick<
  Collection,
  "id" | "name" | "tenant" | "database" | "dimension" | "logPosition"
> & {
  /** It shares an environment. */
  readonly shared: boolean;
};

/** Of one that has an environment of its own. */
export function examineCollection(dataFolder: string, known: KnownCollection): Examination {
  const folder = new DataFolder(dataFolder);
  const path = folder.collectionFile(known.id);
  const contents = new CollectionContents(collectionName(known.id));
  const pages =
    existsSync(path) && folder.collectionBytes(known.id) > 0 ? readEntries(path, contents.add) : [];
  contents.finish();
  return { findings: findingsOf(known, contents, pages), records: contents.records };
}

/** `pages`: what is wrong with the pages that have its entries alone. */
export function findingsOf(
  known: KnownCollection,
  contents: CollectionContents,
  pages: readonly string[],
): readonly Finding[] {
  const lost = pages.length > 0 ? pages : contents.lost;
  const behind = lost.length > 0 ? null : whatIsMissing(contents.head, known);
  const findings: Finding[] = [];
  const subject = subjectOf(known);
  if (lost.length > 0 || behind !== null) {
    findings.push({
      severity: "damage",
      subject,
      problem: `${behind ?? summarize(lost)}; ${contents.records} records can be read`,
      remedy: remedyOf(known, contents.records),
    });
  }
  if (contents.unreadable.length > 0) {
    const ids = contents.unreadable.map(
      ({ id, reason }) => `${id === null ? "one without id" : JSON.stringify(id)}: ${reason}`,
    );
    findings.push({
      severity: "damage",
      subject,
      problem: `${ids.length} of ${contents.records + ids.length} records cannot be read: ${summarize(ids)}`,
      remedy:
        "delete these records by their ids, or restore the data folder from a backup; the others are sound",
    });
  }
  if (contents.badChanges.length > 0) {
    findings.push({
      severity: "warning",
      subject,
      problem: `what was changed last cannot be read: ${summarize(contents.badChanges)}`,
      remedy: "nothing to do: no record is lost, and the index is made from all records instead",
    });
  }
  return findings;
}

export function subjectOf({ name, tenant, database, id }: KnownCollection): string {
  return `collection ${name} (${tenant}/${database}, ${id})`;
}

export function remedyOf({ id }: KnownCollection, readable: number): string {
  const save = `save what can be read (sheaf doctor --salvage ${id} --to FILE.jsonl), `;
  return (
    "restore the data folder from a backup, or " +
    `${readable > 0 ? save : ""}delete the collection (sheaf collections delete) and write it anew`
  );
}

function whatIsMissing(head: StoreHead, known: KnownCollection): string | null {
  try {
    requireCaughtUp(head, known, collectionName(known.id));
    return null;
  } catch (error) {
    return describe(error);
  }
}

interface Unreadable {
  readonly id: string | null;
  readonly reason: string;
}

/** The entries of a collection, as they come in the order of their keys: head, ids, records, removals, changes. */
export class CollectionContents {
  head: StoreHead = EMPTY_HEAD;
  /** That can be read. */
  records = 0;
  readonly unreadable: Unreadable[] = [];
  /** What is wrong beside single records. */
  readonly lost: string[] = [];
  /** Keys that only save work. */
  readonly badChanges: string[] = [];
  readonly #store: string;
  /** Offset -> id; what is left in the end leads nowhere. */
  readonly #ids = new Map<number, string>();
  /** `null`: LMDB counts. */
  #counts: StoreCounts | null = null;
  #entries = 0;

  constructor(store: string) {
    this.#store = store;
  }

  readonly add = ({ key, value }: { readonly key: Uint8Array; readonly value: Uint8Array }): void => {
    const origin = { store: this.#store, key };
    this.#entries += 1;
    try {
      if (Buffer.compare(key, RECORD_KEYS.head) === 0) {
        ({ head: this.head, counts: this.#counts } = decodeHead(value, origin));
        this.#entries -= 1;
      } else if (key[0] === RECORD_KEYS.ids[0]) this.#ids.set(readOffset(value, origin), readId(key));
      else if (key[0] === RECORD_KEYS.afterIds[0]) this.#addRecord(key, value);
      else if (key[0] === RECORD_KEYS.afterRemovals[0]) this.#addChanges(key, value);
    } catch (error) {
      this.lost.push(describe(error));
    }
  };

  finish(): void {
    const left = [...this.#ids.values()].map((id) => JSON.stringify(id));
    if (left.length > 0) this.lost.push(`${left.length} ids lead to no record: ${summarize(left)}`);
    if (this.#counts !== null && this.#counts.entries !== this.#entries)
      this.lost.push(`there are ${this.#entries} of its ${this.#counts.entries} entries`);
  }

  #addChanges(key: Uint8Array, value: Uint8Array): void {
    const origin = { store: this.#store, key };
    try {
      const runs = decodeChangeRuns(value, readSequence(key, origin), origin);
      const { sequence, nextOffset } = this.head;
      const end = Math.max(...runs.map(({ offset, count }) => offset + count));
      if (lastSequence(runs) > sequence) this.badChanges.push(`they go beyond operation ${sequence}`);
      if (end > nextOffset) this.badChanges.push(`offset ${end - 1} is beyond the next one`);
    } catch (error) {
      this.badChanges.push(describe(error));
    }
  }

  #addRecord(key: Uint8Array, value: Uint8Array): void {
    const origin = { store: this.#store, key };
    const offset = readOffset(key, origin);
    const id = this.#ids.get(offset) ?? null;
    this.#ids.delete(offset);
    try {
      const record = decodeRecord(value, offset, { origin });
      this.records += 1;
      if (record.id !== id) this.lost.push(`the id ${JSON.stringify(record.id)} does not lead to its record`);
      if (offset >= this.head.nextOffset) this.lost.push(`offset ${offset} is beyond the next one`);
    } catch (error) {
      this.unreadable.push({ id, reason: describe(error) });
    }
  }
}
