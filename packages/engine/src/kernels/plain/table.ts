/** Plain twin of `assembly/table.ts`. */
import { blockAt } from "../argument-block.ts";
import { TABLE } from "../argument-layouts.generated.ts";
import type { Views } from "./views.ts";

const f = Math.fround;
const TABLE_MAX = 63;

export function buildTable(views: Views, pointer: number): void {
  const args = blockAt(TABLE, views, pointer);
  const first = args.vector >>> 2;
  const vector = views.f32.subarray(first, first + args.size);
  let range = 0;
  let shift = 0;
  for (let j = 0; j < vector.length; j += 4) {
    if (j === args.checked) args.checkedShift = shift;
    const span = sumOf(vector.subarray(j, j + 4).map(Math.abs));
    range = Math.max(range, span);
    shift = f(shift - span);
  }
  const perUnit = range === 0 ? 0 : TABLE_MAX / range;
  for (let j = 0; j < vector.length; j += 4) {
    const x = vector.subarray(j, j + 4).map((element) => element * perUnit);
    const low = f(sumOf(x.map((element) => Math.max(-element, 0))) + 0.5);
    const pairs = [0, x[0]!, x[1]!, f(x[0]! + x[1]!)];
    const others = [0, x[2]!, x[3]!, f(x[2]! + x[3]!)];
    const at = args.table + j * 4;
    for (let pattern = 0; pattern < 16; pattern++)
      views.u8[at + pattern] = f(f(low + pairs[pattern & 3]!) + others[pattern >> 2]!);
  }
  args.scale = perUnit === 0 ? 0 : 2 / perUnit;
  args.shift = shift;
}

function sumOf(x: Float32Array): number {
  return f(f(x[0]! + x[1]!) + f(x[2]! + x[3]!));
}
