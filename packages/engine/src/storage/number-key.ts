/** Keys of a byte and a number, in whose order they sort. */

export const NUMBER_KEY_BYTES = 9;

/** Behind the prefix. */
export function readNumber(key: Uint8Array): number {
  let number = 0;
  for (let at = 1; at < NUMBER_KEY_BYTES; at++) number = number * 256 + key[at]!;
  return number;
}

export function numberKey(prefix: number, value: number): Uint8Array {
  const key = Buffer.allocUnsafe(NUMBER_KEY_BYTES);
  key[0] = prefix;
  key.writeUInt32BE(Math.floor(value / 2 ** 32), 1);
  key.writeUInt32BE(value % 2 ** 32, 5);
  return key;
}
