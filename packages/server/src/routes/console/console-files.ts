/** The files of the console, as `npm run build` has made them of apps/console. They are read once, and no other is ever looked for. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface ConsoleFile {
  readonly text: string;
  readonly mediaType: string;
}

/** Beside the bundle that a server runs, and beside sources and what is compiled of them. */
const PLACES = ["../console/", "../../../console/"];
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

export class ConsoleFiles {
  readonly #folder: string | null;
  readonly #known = new Map<string, ConsoleFile>();
  #names: ReadonlySet<string> | null = null;

  /** @param folder `null`: there is none. By default where the build puts it. */
  constructor(folder?: string | null) {
    this.#folder = folder === undefined ? builtFolder() : folder;
  }

  /** `null`: the console was not built. */
  get page(): ConsoleFile | null {
    return this.#folder === null ? null : this.#read(this.#folder, "index.html");
  }

  /** A script or a style sheet, whose name changes with its content; `null` for any other name. */
  asset(name: string): ConsoleFile | null {
    if (this.#folder === null) return null;
    const folder = join(this.#folder, "assets");
    this.#names ??= new Set(existsSync(folder) ? readdirSync(folder) : []);
    return this.#names.has(name) && extname(name) in MEDIA_TYPES ? this.#read(folder, name) : null;
  }

  #read(folder: string, name: string): ConsoleFile | null {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const path = join(folder, name);
    if (!existsSync(path)) return null;
    const file = { text: readFileSync(path, "utf8"), mediaType: MEDIA_TYPES[extname(name)] ?? "" };
    this.#known.set(name, file);
    return file;
  }
}

function builtFolder(): string | null {
  const folders = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return folders.find((folder) => existsSync(join(folder, "index.html"))) ?? null;
}
