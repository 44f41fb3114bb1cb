/** For arrays that grow. */
type Numbers = Uint16Array | Uint32Array | Float32Array | Float64Array;

/** `into`, which begins with what is in `from` now. */
export function copyInto<T extends Numbers>(from: T, into: T): T {
  into.set(from);
  return into;
}
