import { afterAll, describe, expect, it } from "vitest";
import type { FileKind } from "./file-kind.ts";
import { FileParser } from "./file-parser.ts";
import { PARSER_LIMITS } from "./parser-limits.ts";
import { madeDocx, madePdf, madePdfTree, paragraph } from "./testing/made-files.ts";

const HANGS_MS = 120_000;
const parser = new FileParser();
afterAll(() => parser.close());

const parse = (kind: FileKind, content: string | Uint8Array) =>
  parser.parse(kind, typeof content === "string" ? Buffer.from(content) : content);

describe("files of every kind", () => {
  it.each<[FileKind, string | Uint8Array, string | null, readonly string[]]>([
    ["text", "\ufeffplain\n", null, ["plain\n"]],
    ["text", Buffer.from("\ufeffwide", "utf16le"), null, ["wide"]],
    ["code", "let a = 1;", null, ["let a = 1;"]],
    ["markdown", "---\ntitle: 'Tides'\n---\n# Other\ntext", "Tides", ["# Other\ntext"]],
    ["markdown", "intro\n# Ships\ntext", "Ships", ["intro\n# Ships\ntext"]],
    ["csv", 'name;year\n"a;b";1998\nc;\n', null, ["name: a;b\nyear: 1998", "name: c"]],
    ["json", '[{"a":{"b":[1,"x"]},"n":null},"y"]', null, ["a.b: 1\na.b: x", "y"]],
    ["lines", '{"a":1}\n\n{"a":true}\n', null, ["a: 1", "a: true"]],
    ["pdf", madePdf(["First page", "Second page"]), null, ["First page", "Second page"]],
    // It is wrong about the number of its pages.
    ["pdf", madePdf(["Only page"], 1e9), null, ["Only page"]],
    ["docx", madeDocx(paragraph("Ships") + paragraph("wait")), null, ["Ships\n\nwait"]],
    [
      "html",
      "<html><head><title>A &amp; B</title><style>p{}</style><body><h2>Head</h2><script>no()</script><p>one <b>two</b><p>three",
      "A & B",
      ["## Head\n\none two\n\nthree"],
    ],
  ])("%s", async (kind, content, title, parts) => {
    expect(await parse(kind, content)).toEqual({ title, parts });
  });

  it.each<[FileKind, string | Uint8Array, RegExp]>([
    ["text", Buffer.from([0xff, 0x00, 0x80, 0xc3]), /no text in UTF-8/u],
    ["text", "a\0b", /no text in UTF-8/u],
    ["text", " \n", /holds no text/u],
    ["json", "{", /is no JSON/u],
    ["csv", 'a,b\n"open', /is no CSV/u],
    ["pdf", "no pdf", /./u],
    ["docx", "no zip", /cannot be unpacked/u],
    ["docx", madeDocx("").subarray(0, 200), /cannot be unpacked/u],
  ])("says why it does not read %s", async (kind, content, reason) => {
    expect(await parse(kind, content)).toMatch(reason);
    expect(await parse("text", "still there")).toMatchObject({ parts: ["still there"] });
  });
});

/** Made here, and stored nowhere. */
const BOMBS: readonly (readonly [string, FileKind, () => Uint8Array, RegExp])[] = [
  [
    "a document that inflates a thousand times",
    "docx",
    () => madeDocx(paragraph("x"), "", { "word/bomb.xml": new Uint8Array(64 * 2 ** 20) }),
    /inflates to over/u,
  ],
  [
    "a document whose directory lies about a size",
    "docx",
    () => withLyingSize(madeDocx(paragraph("y".repeat(2 ** 20)))),
    /./u,
  ],
  [
    "entities that expand a billion times",
    "docx",
    () =>
      madeDocx(
        paragraph("&z;"),
        `<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY z "&a;&a;"><!ENTITY e SYSTEM "file:///etc/passwd">]>`,
      ),
    /declares entities/u,
  ],
  [
    "XML that is nested a hundred thousand deep",
    "docx",
    () => madeDocx("<w:p>".repeat(1e5) + "</w:p>".repeat(1e5), "", { "pad.bin": noise(2 ** 20) }),
    /nested more than/u,
  ],
  ["a PDF whose tree of pages has a billion leaves", "pdf", () => madePdfTree(9), /pages, the limit is/u],
  [
    "JSON that is nested too deep",
    "json",
    () => Buffer.from("[".repeat(1e5) + "1" + "]".repeat(1e5)),
    /nested more than/u,
  ],
  [
    "a page with a million open elements, closed in the wrong order",
    "html",
    () => Buffer.from("<a><b>".repeat(5e5) + "</i></a>".repeat(5e5)),
    /took over 30 s|memory|holds no text/u,
  ],
  [
    "a table with one row of 40 MB",
    "csv",
    () => Buffer.from("a,b\n" + "x".repeat(40 * 2 ** 20)),
    /is no CSV: /u,
  ],
  [
    "a page of four million times one element",
    "html",
    () => Buffer.from("<br>".repeat(4e6)),
    /holds no text/u,
  ],
  [
    "a page that is a script and leads elsewhere",
    "html",
    () =>
      Buffer.from(
        `<meta http-equiv="refresh" content="0;url=http://127.0.0.1/"><script>${"while(true){}".repeat(1e5)}</script>`,
      ),
    /holds no text/u,
  ],
  [
    "a table with too many rows",
    "csv",
    () => Buffer.from("a\n" + "1\n".repeat(PARSER_LIMITS.parts + 2)),
    /parts, the limit/u,
  ],
];

describe("bombs", () => {
  it.each(BOMBS)(
    "%s is skipped, and the next file is read",
    async (_, kind, make, reason) => {
      expect(await parse(kind, make())).toMatch(reason);
      expect(await parse("text", "after it")).toMatchObject({ parts: ["after it"] });
    },
    HANGS_MS,
  );

  it(
    "ends a process that takes too much memory",
    async () => {
      // Small objects take many times the size of their text.
      const text = "[" + '{"a":{"b":[0,0,0,0,0,0,0,0]}},'.repeat(2e6) + "1]";
      expect(await parse("json", text)).toMatch(/memory/u);
      expect(await parse("text", "after it")).toMatchObject({ parts: ["after it"] });
    },
    HANGS_MS,
  );
});

/** Names a size of ten bytes for each entry of the directory. */
function withLyingSize(archive: Uint8Array): Uint8Array {
  const bytes = Buffer.from(archive);
  const mark = Buffer.from([0x50, 0x4b, 0x01, 0x02]);
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 4))
    bytes.writeUInt32LE(10, at + 24);
  return bytes;
}

function noise(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => (state = (state * 48_271) % 0x7fffffff) & 0xff);
}
