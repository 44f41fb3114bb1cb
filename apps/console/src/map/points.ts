/** Points in the plane of a canvas. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

const MARGIN = 20;
const REACH = 12;

/** Fits places into a canvas, each axis by itself. */
export function placed(places: Float32Array, width: number, height: number): Float32Array {
  const points = new Float32Array(places.length);
  for (const [axis, size] of [width, height].entries()) {
    let [least, most] = [Infinity, -Infinity];
    for (let i = axis; i < places.length; i += 2) {
      least = Math.min(least, places[i]!);
      most = Math.max(most, places[i]!);
    }
    const scale = most > least ? (size - 2 * MARGIN) / (most - least) : 0;
    for (let i = axis; i < places.length; i += 2)
      points[i] = scale === 0 ? size / 2 : MARGIN + (places[i]! - least) * scale;
  }
  return points;
}

/** Index of the nearest point within reach; `null`: there is none. */
export function nearestTo(points: Float32Array, { x, y }: Point): number | null {
  let [nearest, least]: [number | null, number] = [null, REACH * REACH];
  for (let i = 0; i < points.length; i += 2) {
    const distance = (points[i]! - x) ** 2 + (points[i + 1]! - y) ** 2;
    if (distance < least) [nearest, least] = [i / 2, distance];
  }
  return nearest;
}

/** Index of the nearest point in a direction, within a quarter of all; the first one where none is known, itself where none is there. */
export function nextFrom(points: Float32Array, index: number | null, direction: Point): number | null {
  if (index === null) return points.length === 0 ? null : 0;
  const [x, y] = [points[2 * index]!, points[2 * index + 1]!];
  let [next, least] = [index, Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const along = (points[i]! - x) * direction.x + (points[i + 1]! - y) * direction.y;
    const across = Math.abs((points[i]! - x) * direction.y) + Math.abs((points[i + 1]! - y) * direction.x);
    const distance = along + across;
    if (along > 0 && across <= along && distance < least) [next, least] = [i / 2, distance];
  }
  return next;
}

/** Indices of the points inside a loop, by the even-odd rule. */
export function insideOf(points: Float32Array, loop: readonly Point[]): readonly number[] {
  if (loop.length < 3) return [];
  const inside: number[] = [];
  for (let i = 0; i < points.length; i += 2)
    if (isInside({ x: points[i]!, y: points[i + 1]! }, loop)) inside.push(i / 2);
  return inside;
}

function isInside({ x, y }: Point, loop: readonly Point[]): boolean {
  let inside = false;
  for (const [i, a] of loop.entries()) {
    const b = loop[(i + 1) % loop.length]!;
    const crosses = a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x;
    if (crosses) inside = !inside;
  }
  return inside;
}
