/** How far an import is, in a file that is replaced as a whole after every page, and the report at its end. */
import { existsSync, rmSync } from "node:fs";
import { SettingError } from "../../../settings/setting-error.ts";
import { readState, writeState } from "../saved-state.ts";

export interface CollectionProgress {
  /** `tenant/database/name` at the source. */
  readonly from: string;
  /** The same at Sheaf. */
  readonly to: string;
  /** Records that were read, written, and read back to compare. */
  done: number;
  /** Of those, the records that Sheaf refused: see the file of refusals. */
  refused: number;
  /** SHA-256 of every record that was the same on both sides, added up: it does not depend on their order. */
  checksum: string;
  /** Records at the source and at Sheaf, at the end. */
  source: number | null;
  target: number | null;
  /** Records at the source that have nothing for this collection. */
  absent?: number;
  /** Where the next page begins, for a source that does not count. */
  cursor?: unknown;
  isComplete: boolean;
  /** Why it is not complete, or not the same. */
  problem: string | null;
}

interface Saved {
  readonly version: 1;
  /** Where from and where to: a state belongs to these. */
  readonly source: string;
  readonly target: string;
  /** By id of the collection at the source. */
  readonly collections: Record<string, CollectionProgress>;
}

export class ImportState {
  readonly #path: string;
  readonly #saved: Saved;

  private constructor(path: string, saved: Saved) {
    this.#path = path;
    this.#saved = saved;
  }

  /** @throws SettingError for a file that is the state of another import, or none. */
  static open(path: string, source: string, target: string): ImportState {
    if (!existsSync(path)) return new ImportState(path, { version: 1, source, target, collections: {} });
    const saved = readSaved(path);
    if (saved === null || saved.source !== source || saved.target !== target)
      throw new SettingError(`${path} is not the state of this import; name another with --state`);
    return new ImportState(path, saved);
  }

  /** Beside the state. */
  get refusals(): string {
    return `${this.#path.replace(/\.json$/u, "")}.refused.jsonl`;
  }

  get report(): string {
    return `${this.#path.replace(/\.json$/u, "")}.report.json`;
  }

  get isNew(): boolean {
    return Object.keys(this.#saved.collections).length === 0;
  }

  get collections(): readonly CollectionProgress[] {
    return Object.values(this.#saved.collections);
  }

  /** That of an earlier run, or a new one. */
  progressOf(id: string, places: { readonly from: string; readonly to: string }): CollectionProgress {
    const known = this.#saved.collections[id];
    if (known !== undefined && known.from === places.from && known.to === places.to) return known;
    const counts = { done: 0, refused: 0, checksum: "0", source: null, target: null };
    return (this.#saved.collections[id] = { ...places, ...counts, isComplete: false, problem: null });
  }

  /** Its records have to be read from the first one on. */
  restart(progress: CollectionProgress): void {
    Object.assign(progress, { done: 0, refused: 0, checksum: "0" });
    delete progress.cursor;
    delete progress.absent;
  }

  save(): void {
    writeState(this.#path, this.#saved);
  }

  /** Where anything is not the same on both sides. */
  get wrong(): readonly CollectionProgress[] {
    return this.collections.filter(({ problem }) => problem !== null);
  }

  /** Writes the report. Where everything is complete, a later run begins anew. */
  finish(): void {
    writeState(this.report, this.#saved);
    if (this.wrong.length === 0 && this.collections.every(({ isComplete }) => isComplete))
      rmSync(this.#path, { force: true });
    else this.save();
  }
}

function readSaved(path: string): Saved | null {
  const saved = readState<Saved>(path);
  return saved?.version === 1 && typeof saved.collections === "object" ? (saved as Saved) : null;
}
