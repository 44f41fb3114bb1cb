/** Parts of a text that neither begin nor end inside a code point. */

/** At most `count` UTF-16 units. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  const last = text.charCodeAt(count - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? count - 1 : count);
}

/** The last ones, at most `count` UTF-16 units. */
export function lastCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  const first = text.charCodeAt(text.length - count);
  const splitsPair = first >= 0xdc00 && first <= 0xdfff;
  return text.slice(text.length - count + (splitsPair ? 1 : 0));
}

/** At most `count` bytes of UTF-8. */
export function firstBytes(text: string, count: number): string {
  if (text.length * 3 <= count || Buffer.byteLength(text) <= count) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(count));
  return text.slice(0, read);
}
