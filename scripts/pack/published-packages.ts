/**
 * What is published, and how each package is put together from what was built. The server is its bundle: it depends on
 * what the bundle leaves out, and on nothing that runs a script when it is installed.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyBuild, copyFiles } from "./copy-build.ts";
import { RUNTIME_PACKAGES, runtimeManifest, stageRuntime } from "./onnx-runtime-packages.ts";
import {
  type Manifest,
  ROOT,
  originFields,
  readManifest,
  withoutSourceConditions,
} from "./published-manifest.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

export interface PublishedPackage {
  readonly name: string;
  /** Where its sources are, below the root. */
  readonly source: string;
  /** Fields of its manifest beside those of all packages. */
  manifest(): Readonly<Record<string, unknown>>;
  /** Writes everything but the manifest. */
  stage(folder: string): void;
}

const SERVER = "packages/server";
const CLIENT = "packages/client";
const IMPORTERS = "packages/importers";
const MODEL = "packages/model-minilm";

const server: PublishedPackage = {
  name: "@sheaf/server",
  source: SERVER,
  manifest() {
    const { name, version, description, license, bin, type, engines } = readManifest(SERVER);
    return {
      name,
      version,
      description,
      license,
      keywords: ["embeddings", "vector-database", "hybrid-search", "bm25", "chroma"],
      type,
      bin,
      exports: { "./package.json": "./package.json" },
      ...serverDependencies(),
      engines,
    };
  },
  stage(folder) {
    copyBuild(join(ROOT, SERVER, "bundle"), join(folder, "bundle"), null);
    copyFiles(join(ROOT, SERVER), folder, ["bin/sheaf.mjs", "bundle/package.json", "README.md"]);
    copyFiles(ROOT, folder, ["LICENSE"]);
    cpSync(join(ROOT, SERVER, "console"), join(folder, "console"), { recursive: true });
    const bundled = ["bundle", "console"].flatMap(bundledPackages);
    writeFileSync(
      join(folder, "THIRD-PARTY-NOTICES.txt"),
      thirdPartyNotices([...new Set(bundled)].sort((a, b) => (a < b ? -1 : 1))),
    );
  },
};

const client: PublishedPackage = {
  name: "@sheaf/client",
  source: CLIENT,
  manifest() {
    const { exports, files: _files, ...rest } = readManifest(CLIENT);
    return {
      ...rest,
      keywords: ["embeddings", "vector-database", "hybrid-search", "sheaf"],
      exports: { ...(withoutSourceConditions(exports) as object), "./package.json": "./package.json" },
    };
  },
  stage(folder) {
    copyBuild(join(ROOT, CLIENT, "dist"), join(folder, "dist"), join(ROOT, CLIENT, "src"));
    copyFiles(join(ROOT, CLIENT), folder, ["README.md"]);
    copyFiles(ROOT, folder, ["LICENSE"]);
  },
};

const importers: PublishedPackage = {
  name: "@sheaf/importers",
  source: IMPORTERS,
  manifest() {
    const { exports, files: _files, ...rest } = readManifest(IMPORTERS);
    return {
      ...rest,
      exports: { ...(withoutSourceConditions(exports) as object), "./package.json": "./package.json" },
    };
  },
  stage(folder) {
    copyBuild(join(ROOT, IMPORTERS, "dist"), join(folder, "dist"), join(ROOT, IMPORTERS, "src"));
    copyFiles(join(ROOT, IMPORTERS), folder, ["README.md"]);
    copyFiles(ROOT, folder, ["LICENSE"]);
  },
};

const model: PublishedPackage = {
  name: "@sheaf/model-minilm",
  source: MODEL,
  manifest: () => {
    const { files: _files, ...rest } = readManifest(MODEL);
    return rest;
  },
  stage(folder) {
    mkdirSync(folder, { recursive: true });
    cpSync(join(ROOT, MODEL), folder, { recursive: true });
  },
};

const runtimes = RUNTIME_PACKAGES.map((runtime): PublishedPackage => ({
  name: runtime.name,
  source: "scripts/pack/onnxruntime",
  manifest: () => runtimeManifest(runtime),
  stage: (folder) => stageRuntime(runtime, folder),
}));

/** In the order of publication: what the server depends on comes before it. */
export const PUBLISHED: readonly PublishedPackage[] = [model, ...runtimes, client, importers, server];

export function publishedManifest(published: PublishedPackage, repository: string | null): Manifest {
  return { ...published.manifest(), ...originFields(repository, published.source) } as Manifest;
}

/** What the bundle leaves out, and native code that packages of their own hold for each platform. */
function serverDependencies(): Pick<Manifest, "dependencies" | "optionalDependencies"> {
  const own = readManifest(SERVER).dependencies ?? {};
  const engine = readManifest("packages/engine").dependencies ?? {};
  const inference = readManifest("packages/inference").dependencies ?? {};
  const lmdb = readManifest("node_modules/lmdb").optionalDependencies ?? {};
  const all: Readonly<Record<string, string>> = { ...engine, ...inference, ...own };
  const names = ["@fastify/swagger-ui", "@sheaf/model-minilm", "fs-native-extensions", "rregex"];
  return {
    dependencies: Object.fromEntries(names.map((name) => [name, versionIn(all, name)])),
    optionalDependencies: {
      ...lmdb,
      ...Object.fromEntries(
        RUNTIME_PACKAGES.map((runtime) => [runtime.name, versionIn(all, "onnxruntime-node")]),
      ),
    },
  };
}

function versionIn(dependencies: Readonly<Record<string, string>>, name: string): string {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`no package of ours depends on ${name}`);
  return version;
}

/** Folders of the packages of others whose code a build of the server has taken in. */
function bundledPackages(build: string): readonly string[] {
  const listed = readFileSync(join(ROOT, SERVER, build, "bundled-packages.json"), "utf8");
  return JSON.parse(listed) as readonly string[];
}
