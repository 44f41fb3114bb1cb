/**
 * Bundles the server for a fast start: hundreds of small modules take half a second to load one by one. Reads what
 * `tsc` made and writes packages/server/bundle: the command line and, beside it under their own names, the modules of
 * all child processes and worker threads, which is where `siblingModule` looks for them.
 */
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const BUNDLE = join(ROOT, "packages/server/bundle");
/** Packages with native code, or with files beside their modules. They are the dependencies of what is published. */
/** And what is loaded only where it is installed. */
const EXTERNAL = [
  "@sheaf/importers",
  "fs-native-extensions",
  "onnxruntime-node",
  "rregex",
  "@fastify/swagger-ui",
];
/**
 * lmdb is bundled, so that no install script of it runs where the server is installed. Its binaries are packages of their
 * own: it looks for those of the package whose name it reads in the folder of its code.
 */
const BUNDLE_MANIFEST = { name: "lmdb", private: true, type: "module" };
const SIBLING = /(?<!@example )siblingModule\(import\.meta\.url, "\.\/([^"]+)"\)/gu;
/** What CommonJS packages expect to be there. */
const REQUIRE = [
  'import { createRequire as createBundleRequire } from "node:module";',
  "const require = createBundleRequire(import.meta.url);",
].join("\n");

const entryPoints = [join(ROOT, "packages/server/dist/cli/main.js"), ...siblingModules()];
rmSync(BUNDLE, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: Object.fromEntries(entryPoints.map((path) => [basename(path, ".js"), path])),
  outdir: BUNDLE,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "linked",
  external: EXTERNAL,
  banner: { js: REQUIRE },
  logLevel: "warning",
  metafile: true,
});
writeJson("package.json", BUNDLE_MANIFEST);
writeJson("bundled-packages.json", bundledPackages(Object.keys(metafile.inputs)));

function writeJson(name, value) {
  writeFileSync(join(BUNDLE, name), `${JSON.stringify(value, null, 2)}\n`);
}

/** Folders of the packages of others whose code is in the bundle, whose licences go with it. */
function bundledPackages(inputs) {
  const folders = inputs.flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/u.exec(path.replaceAll("\\", "/")) ?? [],
  );
  return [...new Set(folders)].sort((a, b) => (a < b ? -1 : 1));
}

/** The modules that are started in processes and threads of their own, as built. Throws where two have one name. */
function siblingModules() {
  const found = new Map();
  for (const name of readdirSync(join(ROOT, "packages"))) {
    const [src, dist] = ["src", "dist"].map((folder) => join(ROOT, "packages", name, folder));
    if (!existsSync(dist)) continue;
    for (const file of readdirSync(dist, { recursive: true })) {
      // `tsc` leaves what it made of sources that were moved or removed since.
      const isCurrent = file.endsWith(".js") && existsSync(join(src, file.replace(/\.js$/u, ".ts")));
      if (isCurrent) addSiblings(join(dist, file), found);
    }
  }
  return [...found.values()];
}

function addSiblings(path, found) {
  for (const [, name] of readFileSync(path, "utf8").matchAll(SIBLING)) {
    const module = join(dirname(path), `${name}.js`);
    if ((found.get(name) ?? module) !== module) throw new Error(`two modules are called ${name}`);
    found.set(name, module);
  }
}
