/** The first part of a text, never ending inside a code point. */

/** At most `count` UTF-16 units. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  const last = text.charCodeAt(count - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? count - 1 : count);
}

/** At most `count` bytes of UTF-8. */
export function firstBytes(text: string, count: number): string {
  if (text.length * 3 <= count || Buffer.byteLength(text) <= count) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(count));
  return text.slice(0, read);
}
