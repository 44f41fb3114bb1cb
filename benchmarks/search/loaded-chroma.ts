/**
 * Chroma with a set in it. Loading takes minutes, so the folder stays in the set's cache with what was measured while
 * it was loaded, and each run starts Chroma on a copy.
 */
import { existsSync } from "node:fs";
import { cp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../../test/e2e/testing/served-sheaf.ts";
import type { ChromaSource } from "./launch-chroma.ts";
import { type Loading, loadAndStop } from "./load-records.ts";
import type { SearchSet } from "./search-set.ts";

type Chroma = Extract<ChromaSource, { readonly version: string }>;

/** A copy of the loaded folder, which the caller removes. */
export async function loadedChroma(
  { version, launch }: Chroma,
  set: SearchSet,
): Promise<{ readonly loading: Loading; readonly folder: string }> {
  const kept = join(set.folder, `chroma-${version}`);
  const figures = `${kept}.json`;
  if (!existsSync(figures)) {
    console.log(`Loading ${set.rows} records into Chroma ${version}…`);
    const fresh = `${kept}.loading`;
    await rm(fresh, { recursive: true, force: true });
    await rm(kept, { recursive: true, force: true });
    const server = await launch(fresh);
    const loading = await loadAndStop(server, set);
    await rename(fresh, kept);
    await writeFile(figures, JSON.stringify(loading));
  }
  const folder = await temporaryFolder();
  await cp(kept, folder, { recursive: true });
  return { folder, loading: JSON.parse(await readFile(figures, "utf8")) as Loading };
}
