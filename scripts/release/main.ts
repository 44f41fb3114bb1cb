/**
 * `npm run release -- VERSION`: everything that a release publishes, made in a copy of what is committed and checked, in
 * dist/release; then the new version and the section of the changelog in this clone, uncommitted. With `--dry-run` the
 * clone stays as it is. Publishes, commits and tags nothing: it prints the commands that do.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Command } from "commander";
import { ROOT } from "../pack/published-manifest.ts";
import { PUBLISHED } from "../pack/published-packages.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { releaseChangelog } from "./changelog.ts";
import { currentVersion, nextVersion, versionedFiles, writeVersion } from "./version.ts";

const OUT = join(ROOT, "dist/release");
const CHANGELOG = "CHANGELOG.md";

const program = new Command("npm run release --")
  .description("Makes and checks what a release publishes.")
  .argument("<version>", "major, minor, patch, or a version such as 1.2.3")
  .option("--dry-run", "leave the versions and the changelog of this clone as they are")
  .option("--repository <url>", "where the sources are published; without it, the remote `origin`")
  .parse();
const [given = ""] = program.args;
const { dryRun = false, repository } = program.opts<{ dryRun?: boolean; repository?: string }>();

try {
  release();
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function release(): void {
  const version = nextVersion(currentVersion(ROOT), given);
  const changes = run("git", ["status", "--porcelain"], ROOT);
  if (changes !== "") throw new Error(`commit or remove these changes first:\n${changes}`);
  const date = new Date().toISOString().slice(0, 10);
  const changelog = releaseChangelog(readFileSync(join(ROOT, CHANGELOG), "utf8"), version, date);
  const copy = mkdtempSync(join(tmpdir(), "sheaf-release-"));
  try {
    run("git", ["clone", "--quiet", "--no-hardlinks", ROOT, copy], ROOT);
    writeVersion(copy, version);
    writeFileSync(join(copy, CHANGELOG), changelog.text);
    console.log(`Sheaf ${version}: installing and packing a copy…`);
    run("npm", ["ci"], copy);
    pack(copy);
    writeFileSync(join(OUT, `sheaf-${version}.cdx.json`), billOfMaterials(copy));
    writeFileSync(join(OUT, "RELEASE_NOTES.md"), changelog.notes);
    writeChecksums();
    if (!dryRun)
      for (const path of [...versionedFiles(copy), CHANGELOG])
        copyFileSync(join(copy, path), join(ROOT, path));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  report(version);
}

/** All packages into dist/release, which is emptied. Fails where publint or `attw` find anything. */
function pack(copy: string): void {
  const origin = repository === undefined ? [] : ["--repository", repository];
  execFileSync("npm", ["run", "--silent", "pack", "--", "--out", OUT, ...origin], {
    cwd: copy,
    stdio: "inherit",
  });
  const made = readdirSync(OUT).filter((name) => name.endsWith(".tgz"));
  if (made.length !== PUBLISHED.length)
    throw new Error(`${made.length} packages were made of ${PUBLISHED.length}`);
}

function writeChecksums(): void {
  const lines = readdirSync(OUT)
    .toSorted((a, b) => a.localeCompare(b))
    .map(
      (name) =>
        `${createHash("sha256")
          .update(readFileSync(join(OUT, name)))
          .digest("hex")}  ${name}\n`,
    );
  writeFileSync(join(OUT, "SHA256SUMS"), lines.join(""));
}

/** The order of publication is that of the packages: what another depends on comes first. */
function report(version: string): void {
  const files = readdirSync(OUT);
  console.log(`\ndist/release: ${files.length} files, with the bill of materials sheaf-${version}.cdx.json`);
  if (dryRun) {
    console.log("A dry run: versions and changelog of this clone are as they were.");
    return;
  }
  const tarballs = PUBLISHED.map(({ name }) => {
    const stem = `${name.slice(1).replace("/", "-")}-`;
    return files.find((file) => file.startsWith(stem) && /^\d/u.test(file.slice(stem.length))) ?? "";
  });
  const publish = tarballs.map((file) => `npm publish dist/release/${basename(file)}`);
  console.log(
    [`git commit --all --message "Release ${version}" && git tag v${version}`, ...publish].join("\n"),
  );
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}
