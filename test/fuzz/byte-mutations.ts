/** Changes of a body that is already text: what no tree can say. */
import type { Dice } from "./dice.ts";

const INSERTED = [
  Buffer.from([0xff]),
  Buffer.from([0xc0, 0xaf]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf5, 0x80, 0x80, 0x80]),
  Buffer.from([0xe2, 0x82]),
  Buffer.from([0x00]),
  Buffer.from("\u{feff}"),
  ...[",", "}", "]", '"', "\\", ":", "//", "/*", "\\u", "e", "-", "{{{{", "\r\n\r\n"].map((text) =>
    Buffer.from(text),
  ),
];
const NO_JSON = [
  "",
  " ",
  "null",
  "[]",
  "0",
  '"a"',
  "NaN",
  "a=b&c=d",
  "<a/>",
  "{",
  "{}{}",
  "{}\0",
  "{}]",
  "\u{1f}",
  "{,}",
];
const MOST_BRACKETS = 30_000;

export function mutatedBytes(body: Buffer, dice: Dice): Buffer {
  const at = dice.below(body.length + 1);
  return dice.weighted<() => Buffer>([
    [3, () => body.subarray(0, at)],
    [3, () => Buffer.concat([body.subarray(0, at), dice.pick(INSERTED), body.subarray(at)])],
    [2, () => flipped(body, at, dice)],
    [1, () => Buffer.concat([body, body])],
    [1, () => Buffer.from(dice.pick(NO_JSON))],
    [
      1,
      () => Buffer.from(dice.pick(["[", '{"a":', "[[],", "[{", " "]).repeat(1 + dice.below(MOST_BRACKETS))),
    ],
    [1, () => Buffer.from(body.toString("utf8"), "utf16le")],
    [1, () => Buffer.from(Array.from({ length: dice.below(300) }, () => dice.below(256)))],
  ])();
}

function flipped(body: Buffer, at: number, dice: Dice): Buffer {
  const copy = Buffer.from(body);
  if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << dice.below(8));
  return copy;
}
