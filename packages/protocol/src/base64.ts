/**
 * Base64 (RFC 4648 section 4) to bytes, strict: the standard alphabet, padding as it must be, no line breaks. Written
 * out because `Buffer` does not exist in browsers and skips what it does not know, and `atob` is slow in Node 20.
 */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const INVALID = 0xff;
const SEXTETS = new Uint8Array(128).fill(INVALID);
for (let sextet = 0; sextet < ALPHABET.length; sextet += 1) SEXTETS[ALPHABET.charCodeAt(sextet)] = sextet;

/** The bytes; `null` if the text is not base64. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const letters = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let to = 0;
  for (let from = 0; from < letters; from += 4) {
    const first = sextetAt(text, from);
    const second = sextetAt(text, from + 1);
    const third = from + 2 < letters ? sextetAt(text, from + 2) : 0;
    const fourth = from + 3 < letters ? sextetAt(text, from + 3) : 0;
    if ((first | second | third | fourth) > 0x3f) return null;
    const triple = (first << 18) | (second << 12) | (third << 6) | fourth;
    // Bits under the padding that are not zero make two texts of the same bytes; the writer was not an encoder.
    if (to + 3 > bytes.length && (triple & (to + 2 > bytes.length ? 0xffff : 0xff)) !== 0) return null;
    bytes[to] = triple >> 16;
    bytes[to + 1] = triple >> 8;
    bytes[to + 2] = triple;
    to += 3;
  }
  return bytes;
}

function sextetAt(text: string, index: number): number {
  return SEXTETS[text.charCodeAt(index)] ?? INVALID;
}
