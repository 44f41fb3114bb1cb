/** Where the version of Sheaf is written down, and what it becomes. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const VERSION = /^\d+\.\d+\.\d+$/u;
const STEPS = ["major", "minor", "patch"];

/** Files beside the manifests of the packages. `<version>` stands for the version; all of it has to be there. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  "clients/python/pyproject.toml": ['version = "<version>"'],
  "clients/python/src/sheaf_client/__init__.py": ['__version__ = "<version>"'],
  "deploy/compose/compose.yaml": ["image: sheaf:<version>"],
  "deploy/compose/compose.cluster.yaml": ["image: sheaf:<version>"],
  "deploy/kubernetes/cluster.yaml": ["image: registry.example.org/sheaf:<version>"],
  "deploy/helm/sheaf/Chart.yaml": ["version: <version>", 'appVersion: "<version>"'],
  "docs/guide/install.md": [
    ...["sheaf-server-<version>.tgz", "sheaf-model-minilm-<version>.tgz"],
    ...["sheaf-importers-<version>.tgz", "sheaf-client-<version>.tgz"],
  ],
  "docs/guide/containers.md": ["sheaf:<version>"],
  "docs/guide/typescript-client.md": ["sheaf-client-<version>.tgz"],
};

/** @param given `major`, `minor`, `patch` or a version. Throws for anything else, and for a version that goes back. */
export function nextVersion(current: string, given: string): string {
  const parts = current.split(".").map(Number);
  const step = STEPS.indexOf(given);
  if (step >= 0) return parts.map((part, i) => (i < step ? part : i === step ? part + 1 : 0)).join(".");
  if (!VERSION.test(given))
    throw new Error(`"${given}" is no version such as 1.2.3, and none of ${STEPS.join(", ")}`);
  const wanted = given.split(".").map(Number);
  const differing = wanted.findIndex((part, i) => part !== parts[i]);
  if (differing >= 0 && (wanted[differing] ?? 0) < (parts[differing] ?? 0))
    throw new Error(`${given} is before ${current}`);
  return given;
}

export function currentVersion(root: string): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string })
    .version;
}

/** Below `root`: the files that name the version. */
export function versionedFiles(root: string): readonly string[] {
  const packages = ["packages", "apps"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}/package.json`),
  );
  return ["package.json", "package-lock.json", ...packages, ...Object.keys(PLACES)];
}

/** Throws where a file does not name the version as expected. */
export function writeVersion(root: string, next: string): void {
  const current = currentVersion(root);
  for (const path of versionedFiles(root)) {
    const file = join(root, path);
    const text = readFileSync(file, "utf8");
    writeFileSync(
      file,
      path.endsWith(".json") ? inManifest(text, next) : inPlaces(path, text, [current, next]),
    );
  }
}

interface VersionedManifest {
  version?: string;
  readonly packages?: Readonly<Record<string, VersionedManifest>>;
  readonly [field: string]: unknown;
}

/** A manifest, or the lockfile, which holds those of all packages. */
function inManifest(text: string, next: string): string {
  const manifest = JSON.parse(text) as VersionedManifest;
  const own = Object.entries(manifest.packages ?? {}).filter(([path]) =>
    /^(?:packages\/|apps\/|$)/u.test(path),
  );
  for (const each of [manifest, ...own.map(([, found]) => found)]) {
    if (each.version !== undefined) each.version = next;
    for (const [name, wanted] of Object.entries(each)) {
      if (!name.toLowerCase().endsWith("dependencies")) continue;
      const dependencies = wanted as Record<string, string>;
      for (const dependency of Object.keys(dependencies))
        if (dependency.startsWith("@sheaf/")) dependencies[dependency] = next;
    }
  }
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function inPlaces(path: string, text: string, [current, next]: readonly [string, string]): string {
  return (PLACES[path] ?? []).reduce((changed, place) => {
    const [before, after] = [current, next].map((version) => place.replace("<version>", version)) as [
      string,
      string,
    ];
    if (!changed.includes(before)) throw new Error(`${path} does not have ${before}`);
    return changed.replaceAll(before, after);
  }, text);
}
