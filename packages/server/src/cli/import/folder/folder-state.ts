/**
 * Which files of a folder are in the collection, by their hash. A line is added for each file after its text is stored; the
 * last line for a path counts, and one that was cut off does not.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { SettingError } from "../../../settings/setting-error.ts";

export interface ImportedFile {
  readonly path: string;
  readonly sha256: string;
  /** How it was cut, as JSON. */
  readonly cut: string;
}

interface Header {
  readonly version: 2;
  /** Id of the collection. */
  readonly collection: string;
}

export class FolderState {
  readonly #path: string | null;
  readonly #files = new Map<string, ImportedFile>();

  /**
   * Begins anew where the state is that of another collection.
   *
   * @param path `null`: it is kept in memory only.
   * @throws SettingError for a file that is no state.
   */
  constructor(path: string | null, collection: string) {
    this.#path = path;
    if (path === null) return;
    const header: Header = { version: 2, collection };
    if (existsSync(path)) this.#read(path, header);
    const lines = [header, ...this.#files.values()].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(`${path}.new`, lines.join(""), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** Id of the collection whose state a file is; `null`: there is no such file, or it is something else. */
  static collectionOf(path: string): string | null {
    if (!existsSync(path)) return null;
    const [first = ""] = readFileSync(path, "utf8").split("\n", 1);
    return (parsed(first) as Partial<Header> | null)?.collection ?? null;
  }

  get(path: string): ImportedFile | undefined {
    return this.#files.get(path);
  }

  paths(): readonly string[] {
    return [...this.#files.keys()];
  }

  add(file: ImportedFile): void {
    this.#files.set(file.path, file);
    this.#append(file);
  }

  /** Its records are gone. */
  remove(path: string): void {
    this.#files.delete(path);
    this.#append({ path, sha256: "", cut: "" });
  }

  #append(file: ImportedFile): void {
    if (this.#path !== null) appendFileSync(this.#path, `${JSON.stringify(file)}\n`);
  }

  #read(path: string, { collection }: Header): void {
    const [first = "", ...lines] = readFileSync(path, "utf8").split("\n");
    const header = parsed(first) as Partial<Header> | null;
    if (header?.version !== 2)
      throw new SettingError(`${path} is not the state of an import; name another with --state`);
    if (header.collection !== collection) return;
    for (const line of lines) {
      const file = parsed(line) as ImportedFile | null;
      if (file === null) continue;
      if (file.sha256 === "") this.#files.delete(file.path);
      else this.#files.set(file.path, file);
    }
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
