/**
 * What `npm run pack` makes, as its users install it: with npm alone, in an empty folder, from a registry, without the
 * settings and the overrides of this repository. Prints sizes.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PackedPackage, packPackages } from "../../scripts/pack/pack-packages.ts";
import { folderBytes } from "./testing/folder-bytes.ts";
import { type LocalRegistry, fileIn, startLocalRegistry } from "./testing/local-registry.ts";

const MEGABYTE = 1e6;
const MOST_INSTALLED_MB = 160;
const REPOSITORY = "https://git.example.org/sheaf/sheaf";
const RUNTIME = `@sheaf/onnxruntime-${process.platform}-${process.arch}`;
const folder = mkdtempSync(join(tmpdir(), "sheaf-install-"));
const project = join(folder, "project");
const home = join(folder, "home");
/** Of the user who runs the tests, read outside of any repository. */
const setting = (name: string): string =>
  execFileSync("npm", ["config", "get", name], { cwd: tmpdir(), encoding: "utf8" }).trim();
/** A user whose home folder is empty, and who has npm's defaults but for the registry. */
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  npm_config_registry: setting("registry"),
  npm_config_cache: setting("cache"),
  // A dependency that does not promise to run on this Node fails the install, and does not only warn.
  npm_config_engine_strict: "true",
  SHEAF_ROOT_KEY: "a-root-key-for-tests-only",
  SHEAF_DISK_RESERVE: "1%",
};

let packed: readonly PackedPackage[] = [];
let registry: LocalRegistry;

beforeAll(async () => {
  for (const path of [project, home]) mkdirSync(path);
  packed = await packPackages({
    folder: join(folder, "packages"),
    repository: REPOSITORY,
    isWanted: (name) => !name.includes("onnxruntime") || name === RUNTIME,
  });
  registry = await startLocalRegistry(packed);
  writeFileSync(join(project, "package.json"), "{}");
  await npmInstall();
});

afterAll(() => {
  registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** In a process that runs beside this one, which is the registry. */
async function npmInstall(): Promise<void> {
  const { execFile } = await import("node:child_process");
  const args = ["install", "@sheaf/server", `--@sheaf:registry=${registry.url}`, "--no-audit", "--no-fund"];
  await new Promise<void>((resolve, reject) => {
    execFile("npm", args, { cwd: project, env }, (error, _stdout, stderr) =>
      error === null ? resolve() : reject(new Error(stderr, { cause: error })),
    );
  });
}

interface LockedPackage {
  readonly hasInstallScript?: boolean;
  readonly license?: string;
}

describe("the packages", () => {
  it("have nothing that publint or attw object to", () => {
    expect(packed.map(({ name, findings }) => [name, findings])).toEqual(
      packed.map(({ name }) => [name, []]),
    );
  });

  it("say where they come from, and have a licence and a readme", () => {
    for (const { tarball, name } of packed) {
      const bytes = readFileSync(tarball);
      expect(fileIn(bytes, "package/LICENSE").length, name).toBeGreaterThan(1_000);
      expect(fileIn(bytes, "package/README.md"), name).toContain(name);
      expect(JSON.parse(fileIn(bytes, "package/package.json")), name).toMatchObject({
        license: name === RUNTIME ? "MIT" : "Apache-2.0",
        repository: { type: "git", url: `git+${REPOSITORY}.git` },
        homepage: `${REPOSITORY}#readme`,
        bugs: { url: `${REPOSITORY}/issues` },
        publishConfig: { access: "public", provenance: true },
      });
    }
  });

  it("hold no source maps, tests or sources", () => {
    const files = readdirSync(join(project, "node_modules/@sheaf"), { recursive: true, encoding: "utf8" });
    expect(files.length).toBeGreaterThan(20);
    expect(
      files.filter((file) => /\.map$|\.test\.|testing|tsbuildinfo|(?<!\.d)\.ts$|node_modules/u.test(file)),
    ).toEqual([]);
  });

  it("name the licences of what is bundled", () => {
    const notices = readFileSync(join(project, "node_modules/@sheaf/server/THIRD-PARTY-NOTICES.txt"), "utf8");
    expect(notices).toMatch(/^fastify \S+ \(MIT\)\n\n(?:MIT License\s+)?Copyright/mu);
    expect(notices).toMatch(/^lmdb \S+ \(MIT\)$/mu);
  });
});

describe("npm install @sheaf/server", () => {
  it("runs no install script of any package", () => {
    const lock = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8")) as {
      readonly packages: Readonly<Record<string, LockedPackage>>;
    };
    const installed = Object.entries(lock.packages);
    expect(installed.map(([path]) => path)).toContain(`node_modules/${RUNTIME}`);
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  });

  it(`takes at most ${MOST_INSTALLED_MB} MB`, () => {
    const megabytes = folderBytes(join(project, "node_modules")) / MEGABYTE;
    console.log(`@sheaf/server installed: ${megabytes.toFixed(1)} MB`);
    expect(megabytes).toBeGreaterThan(50);
    expect(megabytes).toBeLessThan(MOST_INSTALLED_MB);
  });

  it("has upstream's ONNX Runtime to the byte", () => {
    const runtime = join(project, "node_modules", RUNTIME);
    const sums = readFileSync(join(runtime, "SHA256SUMS"), "utf8");
    const repository = readFileSync(
      new URL("../../scripts/pack/onnxruntime/SHA256SUMS", import.meta.url),
      "utf8",
    );
    expect(repository.split("\n")).toEqual(expect.arrayContaining(sums.split("\n")));
    expect(sums).toContain("onnxruntime_binding.node");
    const { status } = spawnSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: runtime });
    expect(status).toBe(0);
  });

  it("prints version and help", () => {
    const run = (...args: string[]): string =>
      execFileSync("npx", ["sheaf", ...args], { cwd: project, env, encoding: "utf8" });
    const server = packed.find(({ name }) => name === "@sheaf/server");
    expect(run("--version").trim()).toBe(server?.version);
    expect(run("help")).toContain("Usage: sheaf");
  });

  it("serves, embeds and searches at the first start without a network and with an empty home", () => {
    const program = join(project, "first-start.mjs");
    cpSync(fileURLToPath(new URL("testing/first-start.mjs", import.meta.url)), program);
    const script = `ip link set lo up && exec ${process.execPath} ${program} ${join(folder, "data")}`;
    const { stdout, stderr, status } = spawnSync(
      "unshare",
      ["--map-root-user", "--net", "sh", "-c", script],
      {
        cwd: project,
        env,
        encoding: "utf8",
      },
    );
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
      hasNetwork: false,
      dimensions: 384,
      found: ["Ships wait for the tide."],
      console: 200,
      stopped: true,
    });
    // npx has written its log below its own cache folder.
    expect(readdirSync(home)).toEqual([]);
  });
});
