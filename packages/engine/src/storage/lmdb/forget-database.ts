/** lmdb-js keeps every database that it has ever opened in a map of its own, which its types leave out. */
import { basename, extname } from "node:path";
import * as lmdb from "lmdb";

/** To be called once the database of the folder is closed. */
export function forgetDatabase(folder: string, database: unknown): void {
  const { allDbs } = lmdb as unknown as { readonly allDbs: Map<string, unknown> };
  const name = basename(folder, extname(folder));
  if (allDbs.get(name) === database) allDbs.delete(name);
}
