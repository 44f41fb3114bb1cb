/** Values that have broken servers before, each of which some request puts where another value belongs. */
import type { Dice } from "./dice.ts";
import { type JsonTree, RawJson } from "./json-tree.ts";

const NUMBERS = [
  ..."0 -0 0.0 -0.0 1 -1 1.5 -1.5 0.1 1e-400 1e400 -1e400 1e308 -1e308 1e309 5e-324 1e-45 3.5e38".split(" "),
  ..."2147483647 2147483648 -2147483649 4294967295 4294967296 9007199254740991 9007199254740992".split(" "),
  ..."9007199254740993 -9007199254740993 9223372036854775807 9223372036854775808".split(" "),
  ..."-9223372036854775809 18446744073709551615 18446744073709551616 340282366920938463463374607431768211456".split(
    " ",
  ),
  ..."10000 10001 100000 100001 1e2 1E+2 3.0 1.0e0".split(" "),
  // No JSON at all.
  ..."NaN Infinity -Infinity 01 +1 .5 1. 0x10 1_000 1n --1 1e 1e+".split(" "),
  "9".repeat(400),
  `0.${"1".repeat(400)}`,
];

const STRINGS = [
  ...[
    "",
    " ",
    "\0",
    "a\0b",
    "\t\n\r",
    "\u{feff}",
    "null",
    "true",
    "0",
    "-1",
    "1e400",
    "[]",
    "{}",
    "[object Object]",
  ],
  ...[
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "#id",
    "#document",
    "#embedding",
  ],
  ...[
    "#score",
    "#metadata",
    "#",
    "$",
    "$and",
    "$in",
    "..",
    "../../etc/passwd",
    "%00",
    "%2e%2e",
    "a/b",
    "C:\\",
  ],
  ...["é", "e\u{301}", "日本語", "🎉", "👩‍👩‍👧‍👦", "\u{202e}txt", "\u{10ffff}", "ﷺ", "İ", "ß"],
  ...[
    "' OR 1=1 --",
    "<script>",
    "${7*7}",
    "{{7*7}}",
    "\r\nx: y",
    "default_tenant",
    "default_database",
    "docs",
  ],
  // Base64 of vectors: right, cut, not finite.
  ...["AACAPwAAAEAAAEBA", "AACAPwAAAEA", "AADAfwAAwH8AAMB/", "AACAfwAAgH8AAIB/", "====", "AAAA"],
];

const RAW_STRINGS = [
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  String.raw`"a\u0000b"`,
  String.raw`"\u000"`,
  String.raw`"\x41"`,
  '"\u0001"',
  '"unterminated',
  "'single'",
];

/** Long to match, long to compile, large to compile, or no pattern at all. */
const PATTERNS = [
  ...["(a+)+$", "(a|aa)+$", "(.*)*x", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a?){50}a{50}", ".{1000}"],
  ...[
    "(?:(?:(?:a{1,30}){1,30}){1,30}){1,30}",
    "(a{1000}){1000}",
    "\\p{L}{1,900}",
    "[\\u0000-\\u{10ffff}]*",
    "x{0}",
  ],
  ...[
    "(",
    ")",
    "[",
    "a{2,1}",
    "*",
    "\\",
    "(?<n>a)\\k<n>",
    "(?=a)",
    "(?i)STRASSE",
    "(?x) a b",
    "\\1",
    "(?P<n>a",
  ],
  ...["a{99999999999999999999}", "\\x{110000}", "\\p{Nope}", "(?s-u:.)", "", "^$", "a|", "|".repeat(1_000)],
  ...["(".repeat(500), `${"(".repeat(300)}a${")".repeat(300)}`, "a".repeat(1_024), "a".repeat(1_025)],
  ...["(a?)".repeat(200), "\\d{1,500}\\w{1,500}", "(?:a|b|ab)*c"],
];

/** Names that mean something somewhere, and names that mean trouble. */
const NAMES = [
  ..."__proto__ constructor prototype toString valueOf hasOwnProperty length then toJSON".split(" "),
  ..."$and $or $in $nin $eq $ne $gt $gte $lt $lte $contains $not_contains $regex $not_regex".split(" "),
  ..."$knn $sum $mul $sub $div $max $min $abs $exp $log $val $min_k $max_k #type #id #document #score".split(
    " ",
  ),
  ..."ids embeddings documents metadatas uris where where_document include limit offset n_results keys".split(
    " ",
  ),
  ..."query key default return_rank exact aggregate k left right indices values tokens name schema".split(
    " ",
  ),
  ..."configuration metadata get_or_create hnsw spann embedding_function searches rank group_by select".split(
    " ",
  ),
  ...["", " ", "\0", "#", "$", "🎉", "a.b", "x".repeat(256), "x".repeat(257)],
];

/** Longest string that is put into a body; a few of them still leave it below 64 KiB. */
const LONG_CHARACTERS = 20_000;

export function hostileScalar(dice: Dice): JsonTree {
  return dice.weighted<() => JsonTree>([
    [4, () => new RawJson(dice.pick(NUMBERS))],
    [4, () => dice.pick(STRINGS)],
    [1, () => new RawJson(dice.pick(RAW_STRINGS))],
    [1, () => dice.pick(PATTERNS)],
    [1, () => longText(dice)],
    [2, () => dice.pick([null, true, false])],
    [1, () => dice.pick<JsonTree>([[], { members: [] }, [[]], [null], [[[[]]]]])],
  ])();
}

export function hostilePattern(dice: Dice): string {
  return dice.pick(PATTERNS);
}

export function hostileName(dice: Dice): string {
  return dice.pick(NAMES);
}

export function hostileText(dice: Dice): string {
  return dice.chance(0.1) ? longText(dice) : dice.pick(STRINGS);
}

function longText(dice: Dice): string {
  const unit = dice.pick(["a", "é", "日", "🎉", "ab ", "\0", "a\n", "-9"]);
  return unit.repeat(Math.ceil((dice.below(LONG_CHARACTERS) + 1) / unit.length));
}
