/** Headers: mostly what the route wants, and every now and then what a proxy, a scanner or a mistake would send. */
import { ROOT_KEY } from "../e2e/testing/served-sheaf.ts";
import type { Dice } from "./dice.ts";

type Header = readonly [name: string, value: string];

const MODELS = [
  ...["sentence-transformers/all-MiniLM-L6-v2", "sheaf/bm25", "sheaf/bm25", "no/such-model"],
  ...["", " ", "../..", "__proto__", "a".repeat(3_000), "sheaf/bm25, sheaf/bm25"],
];
const CONTENT_TYPES = [
  ...["application/json", "application/json; charset=utf-8", "application/merge-patch+json", "text/plain"],
  ...["application/json; charset=utf-16", "multipart/form-data", "application/x-www-form-urlencoded", ""],
  ...[
    "application",
    "application/json;",
    "/",
    "application/json, text/html",
    ";;;",
    'a/b; c="',
    "application/jsonp",
  ],
];
const TOKENS = ["wrong", "", " ", "a".repeat(600), "sheaf_key", "é", "undefined", "Bearer x"];
/** Sent as they stand. */
const STRANGE: readonly Header[] = [
  ["Content-Encoding", "gzip"],
  ["Content-Encoding", "br, gzip"],
  ["Accept-Encoding", "gzip;q=0, *;q=2"],
  ["Accept", "text/html"],
  ["Expect", "100-continue"],
  ["Expect", "200-ok"],
  ["Connection", "close"],
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
  ["Upgrade", "h2c"],
  ["Origin", "https://example.org"],
  ["Origin", "null"],
  ["Access-Control-Request-Headers", "x, y, z"],
  ["X-Request-Id", "a".repeat(200)],
  ["X-Request-Id", "../../é"],
  ["X-Forwarded-For", "1.2.3.4, 5.6.7.8"],
  ["X-HTTP-Method-Override", "DELETE"],
  ["If-None-Match", "*"],
  ["Range", "bytes=0-1"],
  ["Cookie", "a=b; a=c"],
  ["Transfer-Encoding", "gzip"],
  ["TE", "trailers"],
  ["__proto__", "1"],
  ["constructor", "1"],
  ["X-Empty", ""],
  ["X-Long", "a".repeat(9_000)],
  ["X-Longer", "a".repeat(20_000)],
  ["X-Control", "a\u0001b"],
  ["X-Tab", "a\tb"],
  ["X Space", "a"],
  ["", "a"],
  ["X-Unicode", "日本語"],
];
const MANY_HEADERS = 1_500;

export function requestHeaders(surface: "v2" | "embed", hasBody: boolean, dice: Dice): readonly Header[] {
  const headers: Header[] = [...credentials(dice)];
  if (hasBody && dice.chance(0.95)) {
    headers.push(["Content-Type", dice.chance(0.92) ? "application/json" : dice.pick(CONTENT_TYPES)]);
  }
  if (surface === "embed" && dice.chance(0.95))
    headers.push(["x-service-embedding-model", dice.pick(MODELS)]);
  if (dice.chance(0.08)) headers.push(dice.pick(STRANGE));
  if (dice.chance(0.02)) headers.push(...repeated(headers, dice));
  return headers;
}

function credentials(dice: Dice): readonly Header[] {
  if (dice.chance(0.9)) return [["x-service-token", ROOT_KEY]];
  return dice.pick<readonly Header[]>([
    [],
    [["x-chroma-token", ROOT_KEY]],
    [["Authorization", `Bearer ${ROOT_KEY}`]],
    [["Authorization", dice.pick(["Bearer", "Basic eDp5", "bearer  ", "Digest", `Token ${ROOT_KEY}`])]],
    [["x-service-token", dice.pick(TOKENS)]],
    [["x-service-token", "{{secret}}"]],
  ]);
}

function repeated(headers: readonly Header[], dice: Dice): readonly Header[] {
  if (dice.chance(0.2)) return Array.from({ length: MANY_HEADERS }, (_, i): Header => [`x-${i}`, "a"]);
  return headers.length === 0 ? [] : [dice.pick(headers), dice.pick(headers)];
}
