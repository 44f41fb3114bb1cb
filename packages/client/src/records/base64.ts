/** Vectors as base64 of little-endian 32-bit floats: less than half of what their decimals take, and made far faster. */

const BYTES_PER_FLOAT = 4;
const ALPHABET = Uint8Array.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
  (letter) => letter.charCodeAt(0),
);
const PADDING = "=".charCodeAt(0);

/** Not `btoa`: making the string of bytes that it takes is what takes the time. */
export function base64OfFloats(values: ArrayLike<number>): string {
  const view = new DataView(new ArrayBuffer(values.length * BYTES_PER_FLOAT));
  for (let i = 0; i < values.length; i++) view.setFloat32(i * BYTES_PER_FLOAT, Number(values[i]), true);
  const bytes = new Uint8Array(view.buffer);
  const letters = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const group = (at(bytes, from) << 16) | (at(bytes, from + 1) << 8) | at(bytes, from + 2);
    for (let letter = 0; letter < 4; letter++) {
      letters[to + letter] = at(ALPHABET, (group >> (18 - 6 * letter)) & 63);
    }
  }
  const surplus = (3 - (bytes.length % 3)) % 3;
  letters.fill(PADDING, letters.length - surplus);
  return new TextDecoder().decode(letters);
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
