/** Bitsets as words of 32 bits. */

export function hasBit(words: Uint32Array, bit: number): boolean {
  return ((words[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
}

/** Sets the bits from `from` to before `to`. */
export function setBits(words: Uint32Array, from: number, to: number): void {
  let bit = from;
  for (; bit < to && bit % 32 !== 0; bit++) words[bit >>> 5]! |= 1 << (bit & 31);
  const whole = to - (to % 32);
  if (bit < whole) words.fill(0xffff_ffff, bit >>> 5, whole >>> 5);
  for (bit = Math.max(bit, whole); bit < to; bit++) words[bit >>> 5]! |= 1 << (bit & 31);
}

export function countBits(words: Uint32Array): number {
  let count = 0;
  // Indexed: an iterator takes several times as long until it is compiled.
  for (let i = 0; i < words.length; i++) {
    count += countOnes(words[i]!);
  }
  return count;
}

/** Set bits of one word. */
export function countOnes(word: number): number {
  let v = word - ((word >>> 1) & 0x5555_5555);
  v = (v & 0x3333_3333) + ((v >>> 2) & 0x3333_3333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The set bits, ascending. */
export function listBits(words: Uint32Array): number[] {
  return Array.from(placesOfBits(words));
}

/** The same side by side. `count`: how many there are. */
export function placesOfBits(words: Uint32Array, count = countBits(words)): Uint32Array {
  const bits = new Uint32Array(count);
  let at = 0;
  for (let index = 0; index < words.length; index++) {
    let word = words[index]!;
    while (word !== 0) {
      bits[at++] = index * 32 + 31 - Math.clz32(word & -word);
      word &= word - 1;
    }
  }
  return bits;
}

export function isEmpty(words: Uint32Array): boolean {
  for (let i = 0; i < words.length; i++) if (words[i] !== 0) return false;
  return true;
}

/** Sets the bits of the second in the first. */
export function addBits(words: Uint32Array, others: Uint32Array): void {
  for (let i = 0; i < others.length; i++) words[i]! |= others[i]!;
}

/** Clears the bits of the second in the first. */
export function dropBits(words: Uint32Array, others: Uint32Array): void {
  for (let i = 0; i < others.length; i++) words[i]! &= ~others[i]!;
}

/** Clears what the second has not set, as far as it goes. */
export function keepBits(words: Uint32Array, others: Uint32Array): void {
  for (let i = 0; i < others.length; i++) words[i]! &= others[i]!;
}

/** The first set bit from `from` on; -1: there is none. */
export function nextBit(words: Uint32Array, from: number): number {
  let index = from >>> 5;
  let word = (words[index] ?? 0) & (-1 << (from & 31));
  while (word === 0 && ++index < words.length) word = words[index]!;
  return word === 0 ? -1 : index * 32 + 31 - Math.clz32(word & -word);
}
