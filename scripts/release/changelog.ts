/** The section of a release in CHANGELOG.md. */

export interface ReleasedChangelog {
  readonly text: string;
  /** What the release has, without its heading. */
  readonly notes: string;
}

const UNRELEASED = "## Unreleased\n";

/** What is unreleased becomes the section of a version. Throws where there is none, or the version has one already. */
export function releaseChangelog(text: string, version: string, date: string): ReleasedChangelog {
  if (new RegExp(`^## ${version.replaceAll(".", "\\.")}\\b`, "mu").test(text))
    throw new Error(`CHANGELOG.md has a section of ${version} already`);
  const at = text.indexOf(UNRELEASED);
  if (at < 0) throw new Error("CHANGELOG.md has no section named Unreleased");
  const rest = text.slice(at + UNRELEASED.length);
  const end = /^## /mu.exec(rest)?.index ?? rest.length;
  const notes = rest.slice(0, end).trim();
  if (notes === "") throw new Error("CHANGELOG.md has nothing that is unreleased");
  return {
    text: `${text.slice(0, at)}${UNRELEASED}\n## ${version} (${date})\n${rest}`,
    notes: `${notes}\n`,
  };
}
