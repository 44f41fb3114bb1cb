/** The licences of the packages whose code is in the bundle of the server. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readManifest } from "./published-manifest.ts";

/** Without the conditions of reciprocal licences: what a bundle may contain. */
const PERMISSIVE = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
]);
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/iu;

/** @param folders Of the packages, below the root of the repository. Throws for a licence that is not permissive. */
export function thirdPartyNotices(folders: readonly string[]): string {
  const parts = folders.map((folder) => {
    const { name, version, license } = readManifest(folder);
    if (license === undefined || !license.split(/ OR |[()]/u).some((term) => PERMISSIVE.has(term)))
      throw new Error(`${name} ${version} has the licence ${license}, which is not known to be permissive`);
    const files = readdirSync(join(ROOT, folder)).filter((file) => LICENCE_FILE.test(file));
    const texts = files.map((file) => readFileSync(join(ROOT, folder, file), "utf8").trim());
    // Some packages name their licence in their manifest only.
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  const line = `\n\n${"-".repeat(80)}\n\n`;
  return [`bundle/ contains code of these packages, under their licences.`, ...parts].join(line) + "\n";
}
