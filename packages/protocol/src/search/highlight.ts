/** `highlight` of a get and of a search: `true`, `false`, or `{"snippet": 200}`. */
import { invalid, unprocessable } from "../errors.ts";
import { isMembers, memberPath, optional, positiveOf, refuseUnknown } from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { HighlightRequest } from "./ast.ts";

const PLAIN: HighlightRequest = Object.freeze({ snippet: null });

/**
 * `null` where nothing is asked for.
 *
 * @throws SheafError 422 for wrong JSON types, 400 for unknown members and a snippet out of bounds.
 */
export function parseHighlight(value: unknown, path: string): HighlightRequest | null {
  if (value === undefined || value === false) return null;
  if (value === true) return PLAIN;
  if (!isMembers(value))
    throw unprocessable(path, 'must be true, false or an object such as {"snippet": 200}');
  refuseUnknown(value, ["snippet"], path);
  const length = optional(value, "snippet");
  if (length === undefined) return PLAIN;
  const at = memberPath(path, "snippet");
  const snippet = positiveOf(length, at);
  if (snippet > LIMITS.snippetCharacters) throw invalid(at, `must be at most ${LIMITS.snippetCharacters}`);
  return Object.freeze({ snippet });
}
