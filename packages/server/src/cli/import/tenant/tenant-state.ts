/** How far the import of a tenant is, beside its manifest. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SettingError } from "../../../settings/setting-error.ts";

export interface CollectionState {
  /** Id at the server; `null`: it is being made. */
  id: string | null;
  isDone: boolean;
  written: number;
  refused: number;
}

interface Saved {
  readonly version: 1;
  /** Server and tenant that it goes to. */
  readonly target: string;
  /** By file of the export. */
  readonly collections: Record<string, CollectionState>;
}

export class TenantState {
  readonly #path: string;
  readonly #saved: Saved;

  /** @throws SettingError where the folder is being imported to another server or tenant. */
  constructor(folder: string, target: string) {
    this.#path = join(folder, "import.json");
    this.#saved = existsSync(this.#path)
      ? (JSON.parse(readFileSync(this.#path, "utf8")) as Saved)
      : { version: 1, target, collections: {} };
    if (this.#saved.target !== target)
      throw new SettingError(
        `${this.#path} belongs to an import to ${this.#saved.target} that was interrupted; end that, or remove the file`,
      );
  }

  /** Of all collections so far. */
  get totals(): { readonly collections: number; readonly written: number; readonly refused: number } {
    const all = Object.values(this.#saved.collections);
    return {
      collections: all.length,
      written: all.reduce((sum, { written }) => sum + written, 0),
      refused: all.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  find(file: string): CollectionState | undefined {
    return this.#saved.collections[file];
  }

  begin(file: string): CollectionState {
    return (this.#saved.collections[file] = { id: null, isDone: false, written: 0, refused: 0 });
  }

  save(): void {
    writeFileSync(`${this.#path}.new`, JSON.stringify(this.#saved), { mode: 0o600, flush: true });
    renameSync(`${this.#path}.new`, this.#path);
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
