/**
 * Body of the embedding endpoints. These know the statuses 400, 401, 413, 429 and 501 only, so a wrong type is 400
 * here where it is 422 elsewhere. Shipped clients send `fetch_tokens` as a string; the interface calls the same flag
 * `fetch_labels`.
 */
import { type ErrorCode, invalid, SheafError } from "../errors.ts";
import {
  exceedsBytes,
  itemPath,
  itemsOf,
  listOf,
  type Members,
  membersOf,
  optional,
  stringOf,
} from "../json/json-shape.ts";
import { LIMITS } from "../limits.ts";
import type { InstructionFields } from "./instruction.ts";

/** What a text over the limit of its model loses; `none`: it is refused. */
export type Truncation = "none" | "end" | "start";

const TRUNCATIONS: readonly Truncation[] = ["none", "end", "start"];

export interface EmbedBody extends InstructionFields {
  readonly texts: readonly string[];
  /** `null`: as the endpoint does it. */
  readonly truncate: Truncation | null;
  /** Send the token behind each index of a sparse vector along. */
  readonly labels: boolean;
  /** Send along what the model reads of each text. */
  readonly pieces: boolean;
}

/**
 * @throws SheafError 400 for a wrong type, too many texts, a body with neither `instructions` nor both `task` and
 * `target`, another `truncate` than there is, label flags that contradict each
 * other, and too many texts for their pieces. Sizes of texts: `checkTextSizes`.
 */
export function parseEmbedBody(body: unknown): EmbedBody {
  const members = membersOf(body, "", invalid);
  const texts = parseTexts(optional(members, "texts"));
  const instructions = parseText(members, "instructions");
  const task = parseText(members, "task");
  const target = parseText(members, "target");
  if (instructions === null && (task === null || target === null)) {
    throw invalid("instructions", "is required, unless both task and target are present");
  }
  const truncate = parseTruncation(optional(members, "truncate"));
  const labels = parseLabels(members);
  const pieces = parseFlag(members, "fetch_pieces") ?? false;
  if (pieces && texts.length > LIMITS.piecesTexts)
    throw invalid(
      "texts",
      `holds ${texts.length} texts, the limit with \`fetch_pieces\` is ${LIMITS.piecesTexts}`,
    );
  return Object.freeze({ texts, instructions, task, target, truncate, labels, pieces });
}

function parseTexts(value: unknown): readonly string[] {
  if (value === undefined) throw invalid("texts", "is required");
  const texts = itemsOf(value, "texts", invalid);
  if (texts.length > LIMITS.embedTexts) {
    throw invalid("texts", `holds ${texts.length} texts, the limit is ${LIMITS.embedTexts}`);
  }
  return texts.map((text, index) => stringOf(text, itemPath("texts", index), invalid));
}

function parseText(members: Members, key: string): string | null {
  const value = optional(members, key);
  return value === undefined ? null : stringOf(value, key, invalid);
}

function parseTruncation(value: unknown): Truncation | null {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? "end" : "none";
  const known = TRUNCATIONS.find((truncation) => truncation === value);
  if (known === undefined) throw invalid("truncate", `must be ${listOf(TRUNCATIONS)}, true or false`);
  return known;
}

function parseLabels(members: Members): boolean {
  const labels = parseFlag(members, "fetch_labels");
  const tokens = parseFlag(members, "fetch_tokens");
  if (labels !== null && tokens !== null && labels !== tokens) {
    throw invalid("fetch_tokens", "contradicts fetch_labels, which means the same");
  }
  return labels ?? tokens ?? false;
}

function parseFlag(members: Members, key: string): boolean | null {
  const value = optional(members, key);
  if (value === undefined) return null;
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  throw invalid(key, 'must be true or false, or "true" or "false"');
}

/**
 * Refuses a text over `LIMITS.textBytes` before anything tokenizes it.
 *
 * @param code `too_large` (413) for dense models, `invalid_argument` (400) for sparse ones, which declare no 413.
 */
export function checkTextSizes(
  texts: readonly string[],
  code: Extract<ErrorCode, "too_large" | "invalid_argument">,
): void {
  for (const [i, text] of texts.entries()) {
    if (exceedsBytes(text, LIMITS.textBytes)) {
      throw new SheafError(code, `${itemPath("texts", i)}: is over ${LIMITS.textBytes} bytes`);
    }
  }
}
