/** `mmr` of a search: `{"lambda": 0.5, "limit": 10}`. */
import { invalid } from "../errors.ts";
import {
  float64Of,
  memberPath,
  membersOf,
  optional,
  positiveOf,
  refuseUnknown,
  required,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { Mmr } from "./ast.ts";

const MEMBERS = ["lambda", "limit"];
/** What peers take, too. */
const DEFAULT_LAMBDA = 0.5;

/** @throws SheafError 422 for wrong JSON types and no `limit`, 400 for bounds and unknown members. */
export function parseMmr(value: unknown, path: string): Mmr {
  const members = membersOf(value, path);
  refuseUnknown(members, MEMBERS, path);
  const lambda = float64Of(optional(members, "lambda") ?? DEFAULT_LAMBDA, memberPath(path, "lambda"));
  if (!(lambda >= 0 && lambda <= 1)) throw invalid(memberPath(path, "lambda"), "must be from 0 to 1");
  const limit = positiveOf(required(members, "limit", path), memberPath(path, "limit"));
  if (limit > LIMITS.mmrPool) {
    throw invalid(memberPath(path, "limit"), `must be at most ${LIMITS.mmrPool}`);
  }
  return Object.freeze({ lambda, limit });
}
