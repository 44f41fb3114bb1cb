/** The text of a page. Nothing in it is run or fetched; the parser builds no tree. */
import { Parser } from "htmlparser2";
import type { ParsedFile } from "../file-parser.ts";
import { decode } from "./text.ts";

const LEFT_OUT: ReadonlySet<string> = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "head",
]);
const BLOCKS: ReadonlySet<string> = new Set(
  "address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table td th tr ul".split(
    " ",
  ),
);

export function parseHtml(bytes: Uint8Array): ParsedFile {
  return htmlText(decode(bytes));
}

export function htmlText(html: string): ParsedFile {
  const words: string[] = [];
  let [title, inTitle, hidden] = ["", false, 0];
  const parser = new Parser({
    onopentagname(name) {
      if (LEFT_OUT.has(name)) hidden += 1;
      // Closes a head that was left open, as browsers do.
      if (name === "body") hidden = 0;
      if (name === "title") inTitle = title === "";
      const level = /^h([1-6])$/u.exec(name)?.[1];
      if (level !== undefined) words.push(`\n\n${"#".repeat(Number(level))} `);
      else if (BLOCKS.has(name)) words.push("\n");
    },
    ontext(text) {
      if (inTitle) title += text;
      else if (hidden === 0) words.push(text.replaceAll(/\s+/gu, " "));
    },
    onclosetag(name) {
      if (LEFT_OUT.has(name) && hidden > 0) hidden -= 1;
      if (name === "title") inTitle = false;
      if (BLOCKS.has(name)) words.push("\n");
    },
  });
  parser.write(html);
  parser.end();
  const lines = words
    .join("")
    .split("\n")
    .map((line) => line.replaceAll(/ {2,}/gu, " ").trim());
  return {
    title,
    parts: [
      lines
        .join("\n")
        .replaceAll(/\n{3,}/gu, "\n\n")
        .trim(),
    ],
  };
}
