/** Points as pixels: some milliseconds for 20,000 of them, which take a canvas ten times that as paths. */

const RADIUS = 3;
/** Half of the width of a disc's row, by its distance from the centre; a third of a pixel more makes it round. */
const REACH = Array.from({ length: 2 * RADIUS + 1 }, (_, row) =>
  Math.floor(Math.sqrt((RADIUS + 1 / 3) ** 2 - (row - RADIUS) ** 2)),
);

export interface Picture {
  /** Row by row, a 32-bit word each. */
  readonly pixels: Uint32Array;
  /** In pixels. */
  readonly width: number;
}

/**
 * Draws a disc of radius 3 for each point. What is outside of the picture is left out.
 *
 * @param points x and y of each, one behind the other.
 * @param colours Index of the ink of each.
 * @param inks Words to write.
 */
export function drawPoints(
  { pixels, width }: Picture,
  points: Float32Array,
  colours: Uint8Array,
  inks: readonly number[],
): void {
  const height = pixels.length / width;
  for (let i = 0; i < colours.length; i++) {
    const [x, y] = [Math.round(points[2 * i]!), Math.round(points[2 * i + 1]!)];
    for (const [row, reach] of REACH.entries()) {
      const line = y + row - RADIUS;
      // Also where a place is no number.
      if (!(line >= 0 && line < height)) continue;
      const from = Math.max(0, x - reach);
      const to = Math.min(width - 1, x + reach);
      if (from <= to) pixels.fill(inks[colours[i]!]!, line * width + from, line * width + to + 1);
    }
  }
}
