/**
 * All that `sheaf doctor` looks at in a data folder, without changing anything in it. Each environment is read in a
 * child process, first without LMDB and, where nothing is wrong with its pages, with it. Of a folder that a server
 * uses only what stands beside the environments is looked at: their pages change while they are read.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runningServer } from "../host/data-lock.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import { checkDataFormat } from "../storage/folder/data-format.ts";
import { sharedName, sharedNames } from "../storage/folder/shared-names.ts";
import { type DiskReserve, createDiskSpace } from "../storage/folder/disk-space.ts";
import { type KnownCollection, remedyOf, subjectOf } from "./examine-collection.ts";
import { damagedEnvironment, takenAlong } from "./examine-shared.ts";
import type { CatalogExamination } from "./examine-catalog.ts";
import { examineIndex } from "./examine-index.ts";
import type { Examination, Finding } from "./finding.ts";
import { InspectionProcess } from "./inspection-process.ts";

export interface FolderExamination {
  readonly findings: readonly Finding[];
  /** That the catalog names; where it is damaged, those besides whose files are there. */
  readonly collections: number;
  /** That can be read. */
  readonly records: number;
  /** Which process uses the folder, whose catalog and collections were not looked at then; `null`: none does. */
  readonly usedBy: string | null;
  /** It is the cache of a server with a database, of which nothing was looked at. */
  readonly isCache: boolean;
}

export interface FolderExaminationOptions {
  readonly dataFolder: string;
  /** As the server is set. */
  readonly diskReserve: DiskReserve;
}

/** Throws `failed_precondition` for a folder that is none of Sheaf's. */
export async function examineFolder({
  dataFolder,
  diskReserve,
}: FolderExaminationOptions): Promise<FolderExamination> {
  const folder = new DataFolder(dataFolder);
  checkDataFormat(folder);
  const findings = [...examineDisk(folder, diskReserve)];
  if (folder.isCache) {
    findings.push({
      severity: "note",
      subject: folder.path,
      problem: "it is the cache of a server with a database, which keeps all that it holds",
      remedy:
        "nothing to do: what is lost or damaged here is read again; with its server stopped, the folder may be removed",
    });
    return { findings, collections: 0, records: 0, usedBy: null, isCache: true };
  }
  const server = runningServer(folder.lockFile);
  if (server !== null) {
    findings.push({
      severity: "note",
      subject: folder.lockFile,
      problem: `a server uses the folder (${server}), so catalog and collections were not looked at`,
      remedy: "stop the server and run this again",
    });
    return { findings, collections: 0, records: 0, usedBy: server, isCache: false };
  }
  const examiner = new Examiner(folder);
  try {
    return await examiner.run(findings);
  } finally {
    await examiner.close();
  }
}

function examineDisk(folder: DataFolder, diskReserve: DiskReserve): readonly Finding[] {
  const problem = createDiskSpace(folder.path, { diskReserve }).problem();
  if (problem === null) return [];
  return [
    {
      severity: "warning",
      subject: folder.path,
      problem: `${problem}: writes are answered with 507`,
      remedy: "make room, or lower --disk-reserve; the server goes on by itself once there is room",
    },
  ];
}

/** What is not known of a collection whose files alone are there. */
const NOWHERE = { tenant: "", database: "", dimension: null, logPosition: 0, shared: false };

class Examiner {
  readonly #folder: DataFolder;
  readonly #process: InspectionProcess;

  constructor(folder: DataFolder) {
    this.#folder = folder;
    this.#process = new InspectionProcess(folder.path);
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  async run(findings: Finding[]): Promise<FolderExamination> {
    const catalog = await this.#process.ask("examineCatalog");
    findings.push(...catalog.findings);
    if (catalog.complete && this.#folder.hasCatalog) {
      const problem = await this.#process.prove("proveCatalog");
      const remedy = "restore the data folder from a backup";
      if (problem !== null) findings.push({ severity: "damage", subject: "the catalog", problem, remedy });
    }
    let records = 0;
    for (const known of catalog.collections) {
      if (!known.shared) {
        const examined = await this.#examine(known);
        findings.push(...examined.findings);
        records += examined.records;
      }
      findings.push(...(await examineIndex(this.#folder.path, known)));
    }
    for (const name of sharedNames()) {
      const examined = await this.#examineShared(name, catalog);
      findings.push(...examined.findings);
      records += examined.records;
    }
    const orphans = this.#orphans(catalog.collections);
    findings.push(...orphans.map((id) => this.#orphanFinding(id, catalog.complete)));
    // What a crash has left is no collection any more; what a damaged catalog has lost can be saved.
    const saved = catalog.complete ? [] : orphans;
    for (const id of saved) {
      const unnamed = { id, name: id, ...NOWHERE };
      records += (await this.#process.ask("examineCollection", unnamed)).records;
    }
    const collections = catalog.collections.length + saved.length;
    return { findings, collections, records, usedBy: null, isCache: false };
  }

  async #examine(known: KnownCollection): Promise<Examination> {
    const examined = await this.#process.ask("examineCollection", known);
    if (examined.findings.length > 0 || !existsSync(this.#folder.collectionFile(known.id))) return examined;
    const problem = await this.#process.prove("proveCollection", known.id);
    if (problem === null) return examined;
    const remedy = remedyOf(known, examined.records);
    return { ...examined, findings: [{ severity: "damage", subject: subjectOf(known), problem, remedy }] };
  }

  async #examineShared(
    name: string,
    { collections: all, complete }: Pick<CatalogExamination, "collections" | "complete">,
  ): Promise<Examination> {
    const collections = all.filter(({ id, shared }) => shared && sharedName(id) === name);
    const isThere = existsSync(join(this.#folder.path, name, "data.mdb"));
    if (collections.length === 0 && !isThere) return { findings: [], records: 0 };
    const examined = await this.#process.ask("examineShared", { name, collections, complete });
    if (!isThere || examined.findings.some(({ severity }) => severity === "damage")) return examined;
    const problem = await this.#process.prove("proveShared", name);
    if (problem === null) return examined;
    const damage = damagedEnvironment(name, [problem], collections.length);
    const taken = collections.map((known) => takenAlong(name, known));
    return { ...examined, findings: [...examined.findings, damage, ...taken] };
  }

  #orphans(known: readonly KnownCollection[]): readonly string[] {
    const ids = new Set(known.map(({ id }) => id));
    return [...this.#folder.collectionIds()].filter((id) => !ids.has(id));
  }

  #orphanFinding(id: string, complete: boolean): Finding {
    return {
      severity: complete ? "note" : "damage",
      subject: this.#folder.collection(id),
      problem: "the catalog does not know this collection",
      remedy: complete
        ? "nothing to do: a crash left it, and the next start of the server removes it"
        : `save what can be read (sheaf doctor --salvage ${id} --to FILE.jsonl)`,
    };
  }
}
