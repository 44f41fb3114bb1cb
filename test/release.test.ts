/** What a release changes in a clone. `npm run release -- patch --dry-run` makes the rest. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { releaseChangelog } from "../scripts/release/changelog.ts";
import { currentVersion, nextVersion, versionedFiles, writeVersion } from "../scripts/release/version.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CURRENT = currentVersion(ROOT);
const NEXT = "98.7.6";
/** What has a version of its own: programs for tests, and the embedding interface, which changes with the wire. */
const OTHERS = [
  "benchmarks/transformers/package.json",
  "packages/server/src/openapi/document.test.ts",
  "packages/server/src/openapi/document.ts",
  "test/compat/langchain/package.json",
  "test/image/tools/package.json",
  "test/release.test.ts",
];
const folder = mkdtempSync(join(tmpdir(), "sheaf-release-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the next version", () => {
  it.each([
    ["1.2.3", "patch", "1.2.4"],
    ["1.2.3", "minor", "1.3.0"],
    ["1.2.3", "major", "2.0.0"],
    ["1.2.3", "1.2.3", "1.2.3"],
    ["1.9.3", "1.10.0", "1.10.0"],
  ])("after %s, %s, is %s", (current, given, expected) => {
    expect(nextVersion(current, given)).toBe(expected);
  });

  it.each(["1.2.2", "1.1.9", "0.9.9", "2.0", "v2.0.0", "2.0.0-rc.1", "", "next"])("is not %j", (given) => {
    expect(() => nextVersion("1.2.3", given)).toThrow(/is before 1\.2\.3|is no version/u);
  });
});

describe("a release", () => {
  it("writes its version wherever the current one stands", () => {
    const files = versionedFiles(ROOT);
    for (const path of files) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    writeVersion(folder, NEXT);
    expect(currentVersion(folder)).toBe(NEXT);
    const named = execFileSync(
      "git",
      [
        "grep",
        "--untracked",
        "--fixed-strings",
        "--files-with-matches",
        CURRENT,
        "--",
        ":!*package-lock.json",
        ":!CHANGELOG.md",
      ],
      { cwd: ROOT, encoding: "utf8" },
    );
    const known = new Set([...files, ...OTHERS]);
    expect(
      named
        .trim()
        .split("\n")
        .filter((path) => !known.has(path)),
    ).toEqual([]);
    const server = JSON.parse(readFileSync(join(folder, "packages/server/package.json"), "utf8")) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    expect(server.dependencies).toMatchObject({ "@sheaf/engine": NEXT });
    expect(server.dependencies["fastify"]).not.toBe(NEXT);
  });

  it("leaves everything else in these files as it is", () => {
    for (const path of versionedFiles(ROOT)) {
      const [before, after] = [ROOT, folder].map((root) => readFileSync(join(root, path), "utf8"));
      expect(after?.replaceAll(NEXT, CURRENT), path).toBe(before);
    }
  });

  it("ends the section of what is unreleased", () => {
    const text = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.0.0 (2026-01-01)\n\n- Old.\n";
    expect(releaseChangelog(text, "1.1.0", "2026-02-03")).toEqual({
      text: "# Changelog\n\n## Unreleased\n\n## 1.1.0 (2026-02-03)\n\n- New.\n\n## 1.0.0 (2026-01-01)\n\n- Old.\n",
      notes: "- New.\n",
    });
    expect(() => releaseChangelog(text, "1.0.0", "2026-02-03")).toThrow("has a section of 1.0.0 already");
    expect(() => releaseChangelog(text.replace("- New.\n", ""), "1.1.0", "")).toThrow(
      "nothing that is unreleased",
    );
    expect(() => releaseChangelog("# Changelog\n", "1.1.0", "")).toThrow("no section named Unreleased");
  });

  it("finds the section in the changelog that there is", () => {
    const { notes } = releaseChangelog(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), NEXT, "2026-02-03");
    expect(notes.length).toBeGreaterThan(10);
  });
});
