/** Which parser reads a file, by its name. */
import { basename, extname } from "node:path";

export type FileKind = "markdown" | "html" | "pdf" | "docx" | "csv" | "json" | "lines" | "code" | "text";

const CODE =
  "bash c cc cfg clj cpp cs css cxx dart diff ex exs go graphql groovy h hcl hh hpp hs ini java jl js jsx kt kts less lua " +
  "m mjs cjs ml mm nim nix patch php pl properties proto ps1 py pyi r rb rs sass scala scss sh sql svelte swift tcl tf toml " +
  "ts tsx mts cts vb vim vue xml xsd xsl yaml yml zig zsh";
const KINDS: Readonly<Record<string, FileKind>> = {
  ...{ md: "markdown", markdown: "markdown", mdx: "markdown" },
  ...{ html: "html", htm: "html", xhtml: "html" },
  ...{ pdf: "pdf", docx: "docx", csv: "csv", tsv: "csv" },
  ...{ json: "json", jsonl: "lines", ndjson: "lines" },
  ...{
    txt: "text",
    text: "text",
    rst: "text",
    adoc: "text",
    asciidoc: "text",
    org: "text",
    tex: "text",
    log: "text",
  },
  ...Object.fromEntries(CODE.split(" ").map((extension) => [extension, "code" as const])),
};
const NAMES: Readonly<Record<string, FileKind>> = {
  ...{ readme: "text", license: "text", licence: "text", changelog: "text", notice: "text", authors: "text" },
  ...{ makefile: "code", dockerfile: "code", jenkinsfile: "code", rakefile: "code", gemfile: "code" },
};

/** `null`: none does. */
export function kindOf(path: string): FileKind | null {
  const extension = extname(path).slice(1).toLowerCase();
  const known = extension === "" ? NAMES : KINDS;
  const word = extension === "" ? basename(path).toLowerCase() : extension;
  return Object.hasOwn(known, word) ? (known[word] ?? null) : null;
}
