/**
 * A random rotation in O(n log n), in place: four rounds of signs and a Hadamard transform. Where the size is no
 * power of two the transform covers the first (odd rounds: the last) `window` elements, and the halves are mixed
 * after it, x + y and x - y (Kac's walk). All scaling is in the sign tables, so a round is multiplications and sums.
 */

@unmanaged
export class RotateArguments {
  vector: usize;
  /** A multiple of 64. */
  size: u32;
  /** Power of two, at least 64: the largest that `size` holds. */
  window: u32;
  /** f32, `size` per round, 4 rounds. */
  signs: usize;
}

export function rotate(pointer: usize): void {
  const args = changetype<RotateArguments>(pointer);
  const bytes = (<usize>args.size) << 2;
  const window = (<usize>args.window) << 2;
  for (let round: u32 = 0; round < 4; round++) {
    const signs = args.signs + bytes * round;
    for (let i: usize = 0; i < bytes; i += 16) {
      v128.store(args.vector + i, f32x4.mul(v128.load(args.vector + i), v128.load(signs + i)));
    }
    hadamard(args.vector + (round & 1 ? bytes - window : 0), window);
    if (window != bytes) {
      const half = bytes >> 1;
      for (let i: usize = 0; i < half; i += 16) butterfly(args.vector + i, args.vector + half + i);
    }
  }
}

function butterfly(first: usize, second: usize): void {
  const x = v128.load(first);
  const y = v128.load(second);
  v128.store(first, f32x4.add(x, y));
  v128.store(second, f32x4.sub(x, y));
}

function hadamard(start: usize, bytes: usize): void {
  const end = start + bytes;
  const odd = i32x4(0, 0x80000000, 0, 0x80000000);
  const upper = i32x4(0, 0, 0x80000000, 0x80000000);
  for (let p = start; p < end; p += 16) {
    let x = v128.load(p);
    x = f32x4.add(v128.shuffle<f32>(x, x, 0, 0, 2, 2), v128.xor(v128.shuffle<f32>(x, x, 1, 1, 3, 3), odd));
    x = f32x4.add(v128.shuffle<f32>(x, x, 0, 1, 0, 1), v128.xor(v128.shuffle<f32>(x, x, 2, 3, 2, 3), upper));
    v128.store(p, x);
  }
  for (let half: usize = 16; half < bytes; half <<= 1) {
    for (let group = start; group < end; group += half << 1) {
      for (let p = group; p < group + half; p += 16) butterfly(p, p + half);
    }
  }
}
