/**
 * Vectors as the server sends them: base64 of little-endian 32-bit floats, which is how every browser keeps its own.
 *
 * @param into Where they go, from index `at` on.
 * @throws DOMException for what is no base64, RangeError for more values than there is room for.
 */
export function readBase64Floats(text: string, into: Float32Array, at: number): void {
  const bytes = atob(text);
  const target = new Uint8Array(into.buffer, into.byteOffset + 4 * at, bytes.length);
  for (let i = 0; i < bytes.length; i++) target[i] = bytes.charCodeAt(i);
}
