/** Sums over the lanes of a register: (0 + 1) + (2 + 3), the order that the twins of the kernels add in. */

export function sumOfFloats(x: v128): f32 {
  return (
    f32x4.extract_lane(x, 0) +
    f32x4.extract_lane(x, 1) +
    (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3))
  );
}

export function sumOfInts(x: v128): i32 {
  return (
    i32x4.extract_lane(x, 0) + i32x4.extract_lane(x, 1) + i32x4.extract_lane(x, 2) + i32x4.extract_lane(x, 3)
  );
}
