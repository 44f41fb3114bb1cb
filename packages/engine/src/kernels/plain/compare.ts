/** Plain twin of `assembly/compare.ts`. */
import { blockAt } from "../argument-block.ts";
import { COMPARE } from "../argument-layouts.generated.ts";
import { normalize, preparedDistance } from "../distance.ts";
import type { Views } from "./views.ts";

const SPACES = ["l2", "ip", "cosine"] as const;

export function compareVector(views: Views, pointer: number): void {
  const args = blockAt(COMPARE, views, pointer);
  const dimension = args.dimension;
  const space = SPACES[args.space]!;
  const from = args.vector;
  const to = args.row;
  const padded = Math.ceil(dimension / 16) * 16;
  // A copy of bytes: the vector need not lie on a whole word.
  views.u8.copyWithin(to, from, from + dimension * 4);
  const row = views.f32.subarray(to >>> 2, (to >>> 2) + padded).fill(0, dimension);
  if (space === "cosine") normalize(row, row);
  const query = args.query >>> 2;
  args.distance = preparedDistance(space, views.f32.subarray(query, query + padded), row);
}
