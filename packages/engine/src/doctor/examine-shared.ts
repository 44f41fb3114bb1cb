/**
 * Everything that can be wrong with an environment that collections share. It is gone through once, for all of them: the
 * entries of a collection lie together. Their heads count what there was, so a page that is lost is told of each that it had.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { idBytes } from "../catalog/catalog-keys.ts";
import { keyName } from "../storage/entries.ts";
import { SHARE_ID_BYTES } from "../storage/lmdb/shared-space.ts";
import { CollectionContents, type KnownCollection, findingsOf, subjectOf } from "./examine-collection.ts";
import { type Examination, type Finding, summarize } from "./finding.ts";
import { readEntries } from "./read-entries.ts";
import { formatUuid } from "../storage/format-uuid.ts";

export interface SharedEnvironment {
  /** Path inside the data folder. */
  readonly name: string;
  /** Those that the catalog knows there. */
  readonly collections: readonly KnownCollection[];
  /** The catalog is whole. */
  readonly complete: boolean;
}

export function examineShared(
  dataFolder: string,
  { name, collections, complete }: SharedEnvironment,
): Examination {
  const contents = new Map(
    collections.map((known) => [keyName(idBytes(known.id)), { known, found: new CollectionContents(name) }]),
  );
  const strangers = new Set<string>();
  const path = join(dataFolder, name, "data.mdb");
  const isThere = existsSync(path) && statSync(path).size > 0;
  const pages = !isThere
    ? []
    : readEntries(path, ({ key, value }) => {
        const id = keyName(key.subarray(0, SHARE_ID_BYTES));
        const of = contents.get(id);
        if (of === undefined) strangers.add(id);
        else of.found.add({ key: key.subarray(SHARE_ID_BYTES), value });
      });
  const findings: Finding[] = [];
  if (pages.length > 0) findings.push(damagedEnvironment(name, pages, collections.length));
  let records = 0;
  for (const { known, found } of contents.values()) {
    found.finish();
    const own = findingsOf(known, found, []);
    findings.push(...(own.length === 0 && pages.length > 0 ? [takenAlong(name, known)] : own));
    records += found.records;
  }
  if (strangers.size > 0) findings.push(strangersIn(name, [...strangers], complete));
  return { findings, records };
}

export function damagedEnvironment(name: string, problems: readonly string[], collections: number): Finding {
  return {
    severity: "damage",
    subject: `environment ${name}, which ${collections} collections share`,
    problem: summarize(problems),
    remedy:
      "restore the data folder from a backup, or save what can be read of each of its collections " +
      "(sheaf doctor --salvage ID --to FILE.jsonl), delete them (sheaf collections delete) and write them anew",
  };
}

/** What is wrong with the environment has its collections refused, whatever can be read of them. */
export function takenAlong(name: string, known: KnownCollection): Finding {
  return {
    severity: "damage",
    subject: subjectOf(known),
    problem: `it lies in environment ${name}, which is damaged; all of it can be read`,
    remedy: `sheaf doctor --salvage ${known.id} --to FILE.jsonl, sheaf collections delete, and write it anew`,
  };
}

function strangersIn(name: string, ids: readonly string[], complete: boolean): Finding {
  const names = ids.map((id) => formatUuid(Buffer.from(id, "latin1")));
  return {
    severity: complete ? "note" : "damage",
    subject: `environment ${name}`,
    problem: `it holds entries of collections that the catalog does not know there: ${summarize(names)}`,
    remedy: complete
      ? "nothing to do: they were dropped or have moved, and a server removes what they have left"
      : "save what can be read of each (sheaf doctor --salvage ID --to FILE.jsonl)",
  };
}
