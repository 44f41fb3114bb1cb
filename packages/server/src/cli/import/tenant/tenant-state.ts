/** How far the import of a tenant is, beside its manifest. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SettingError } from "../../../settings/setting-error.ts";
import { readState, writeState } from "../saved-state.ts";

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

  /** @throws SettingError where the folder is being imported to another server or tenant, or the file is no state. */
  constructor(folder: string, target: string) {
    this.#path = join(folder, "import.json");
    this.#saved = existsSync(this.#path) ? readSaved(this.#path) : { version: 1, target, collections: {} };
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
    writeState(this.#path, this.#saved);
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

function readSaved(path: string): Saved {
  const saved = readState<Saved>(path);
  if (saved?.version === 1 && typeof saved.collections === "object") return saved as Saved;
  throw new SettingError(`${path} is not the state of this import; remove it to begin anew`);
}
