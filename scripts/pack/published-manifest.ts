/** What the manifests of all published packages have in common, and those of our packages without what only a clone needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest;
}

/**
 * Where the sources are, which npm's provenance compares with what was built.
 * @param repository Address of the git repository, `https://…`; `null`: not known, the fields are left out.
 */
export function originFields(repository: string | null, folder: string): Readonly<Record<string, unknown>> {
  const publishConfig = { access: "public", provenance: true };
  if (repository === null) return { publishConfig };
  const address = repository.replace(/\.git$/u, "");
  return {
    homepage: `${address}#readme`,
    bugs: { url: `${address}/issues` },
    repository: { type: "git", url: `git+${address}.git`, directory: folder },
    publishConfig,
  };
}

/** The exports that a clone reads its sources by lead nowhere in a package. */
export function withoutSourceConditions(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  return Object.fromEntries(
    Object.entries(exports)
      .filter(([condition]) => condition !== "@sheaf/source")
      .map(([condition, target]) => [condition, withoutSourceConditions(target)]),
  );
}
