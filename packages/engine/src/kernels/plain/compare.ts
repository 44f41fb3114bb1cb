/** Plain twin of `assembly/compare.ts`. */
import { COMPARE } from "../arguments.ts";
import { normalize, preparedDistance } from "../distance.ts";
import { Arguments, type Views } from "./views.ts";

const SPACES = ["l2", "ip", "cosine"] as const;

export function compareVector(views: Views, pointer: number): void {
  const args = new Arguments(views, pointer);
  const dimension = args.u32(COMPARE.dimension);
  const space = SPACES[args.u32(COMPARE.space)]!;
  const from = args.u32(COMPARE.vector);
  const to = args.u32(COMPARE.row);
  const padded = Math.ceil(dimension / 16) * 16;
  // A copy of bytes: the vector need not lie on a whole word.
  views.u8.copyWithin(to, from, from + dimension * 4);
  const row = views.f32.subarray(to >>> 2, (to >>> 2) + padded).fill(0, dimension);
  if (space === "cosine") normalize(row, row);
  const query = args.u32(COMPARE.query) >>> 2;
  args.setF32(COMPARE.distance, preparedDistance(space, views.f32.subarray(query, query + padded), row));
}
