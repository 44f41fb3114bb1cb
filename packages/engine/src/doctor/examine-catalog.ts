/** Everything that can be wrong with the catalog: pages, checksums, and keys that do not lead to each other. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type CollectionEntry,
  decodeCollection,
  decodeCounter,
  decodeDatabase,
  decodeForkTree,
  decodeTokenUsage,
} from "../catalog/catalog-codec.ts";
import { CATALOG_PREFIX, COUNTER_KEY, ageKey, idBytes, memberKey, nameKey } from "../catalog/catalog-keys.ts";
import type { DataOrigin } from "../storage/corrupt-data-error.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { hadCatalog } from "../storage/folder/data-format.ts";
import type { Entry } from "../storage/entries.ts";
import { type Finding, describe, summarize } from "./finding.ts";
import type { KnownCollection } from "./examine-collection.ts";
import { AccessEntries } from "./access-entries.ts";
import { readEntries } from "./read-entries.ts";
import { formatUuid } from "../storage/format-uuid.ts";

export interface CatalogExamination {
  readonly findings: readonly Finding[];
  readonly collections: readonly KnownCollection[];
  /** The folders of collections that are not among them are left over from a crash. */
  readonly complete: boolean;
}

const REMEDY =
  "restore the data folder from a backup; without one, save each collection by its id " +
  "(sheaf doctor --salvage ID --to FILE.jsonl) and write them to a new data folder";

export function examineCatalog(dataFolder: string): CatalogExamination {
  const folder = new DataFolder(dataFolder);
  const path = join(folder.catalog, "data.mdb");
  if (!folder.hasCatalog) {
    const lost = existsSync(path) || hadCatalog(folder) || folder.collectionIds().next().done !== true;
    return { findings: lost ? [finding("it is missing or empty")] : [], collections: [], complete: !lost };
  }
  const contents = new CatalogContents();
  const pages = readEntries(path, contents.add);
  contents.finish();
  const problems = pages.length > 0 ? pages : contents.problems;
  return {
    findings: problems.length > 0 ? [finding(summarize(problems))] : [],
    collections: contents.collections,
    complete: problems.length === 0,
  };
}

function finding(problem: string): Finding {
  return { severity: "damage", subject: "the catalog", problem, remedy: REMEDY };
}

const DECODERS: Readonly<Record<number, (value: Uint8Array, origin: DataOrigin) => unknown>> = {
  [CATALOG_PREFIX.database]: decodeDatabase,
  [CATALOG_PREFIX.forkTree]: decodeForkTree,
  [CATALOG_PREFIX.tokenUsage]: decodeTokenUsage,
  [CATALOG_PREFIX.collectionCount]: decodeCounter,
};

class CatalogContents {
  readonly problems: string[] = [];
  readonly #collections = new Map<string, CollectionEntry>();
  /** Keys that lead to a collection -> its id; what is left in the end leads nowhere, or to another. */
  readonly #leading = new Map<string, string>();
  readonly #access = new AccessEntries();
  #hasCounter = false;

  get collections(): readonly CollectionEntry[] {
    return [...this.#collections.values()];
  }

  readonly add = ({ key, value }: Entry): void => {
    const origin = { store: "catalog", key };
    const prefix = key[0] ?? 0;
    try {
      if (prefix === COUNTER_KEY[0]) this.#hasCounter = decodeCounter(value, origin) >= 0;
      else if (prefix === CATALOG_PREFIX.collection) {
        const entry = decodeCollection(value, origin);
        const id = formatUuid(key.subarray(1));
        if (entry.id === id) this.#collections.set(id, entry);
        else this.problems.push(`the entry of collection ${entry.id} lies under ${id}`);
      } else if (LEADING.has(prefix)) this.#leading.set(hex(key), formatUuid(value));
      else if (this.#access.add({ key, value }, origin)) return;
      else DECODERS[prefix]?.(value, origin);
    } catch (error) {
      this.problems.push(describe(error));
    }
  };

  finish(): void {
    if (!this.#hasCounter) this.problems.push("it has no counter of collections");
    for (const { id, name, databaseId, created } of this.collections) {
      const database = idBytes(databaseId);
      for (const key of [
        nameKey(database, name),
        ageKey(database, created),
        memberKey(database, idBytes(id)),
      ]) {
        if (this.#leading.get(hex(key)) !== id) this.problems.push(`a key of collection ${id} is missing`);
        this.#leading.delete(hex(key));
      }
    }
    for (const id of new Set(this.#leading.values())) {
      this.problems.push(`a key leads to collection ${id}, which has no such entry`);
    }
    this.problems.push(...this.#access.problems());
  }
}

const LEADING: ReadonlySet<number> = new Set([
  CATALOG_PREFIX.collectionByName,
  CATALOG_PREFIX.collectionByAge,
  CATALOG_PREFIX.member,
]);

function hex(key: Uint8Array): string {
  return Buffer.from(key).toString("hex");
}
