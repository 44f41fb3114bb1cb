/**
 * The body of `POST .../search/check`, which is that of a search: every part that a search would refuse, where the search
 * itself is refused for the first one. Nothing here knows the collection.
 */
import { SheafError, invalid } from "../errors.ts";
import { type Members, isMembers, itemPath, listOf, memberPath, membersOf } from "../json/json-shape.ts";
import type { Search } from "../search/ast.ts";
import { parseReadLevel, parseSearch, searchesOf } from "../search/search-request.ts";
import { type Finding, Findings } from "./findings.ts";

const BODY_MEMBERS = ["searches", "read_level"];
/** Stands for a rank where only that there is one matters. */
const SOME_RANK = { $val: 0 };

export interface SearchCheck {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** One for each payload; `null` for one that a search would be refused for. */
  readonly searches: readonly (Search | null)[];
}

/** @param body What `readJson` gave, or the error that it threw. */
export function parseSearchCheck(body: unknown, arrivedAt = 0): SearchCheck {
  const problems = new Findings();
  const warnings = new Findings();
  const attempt = <T>(path: string, parse: () => T): T | null => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof SheafError)) throw error;
      problems.addError(error, path);
      return null;
    }
  };
  const members = attempt("", () => {
    if (body instanceof SheafError) throw body;
    return membersOf(body, "");
  });
  const payloads = members === null ? null : attempt("searches", () => searchesOf(members));
  const named = { count: 0 };
  const searches = (payloads ?? []).map((payload, i) => {
    const path = itemPath("searches", i);
    const search = attempt(path, () => parseSearch(payload, path, { arrivedAt, named }));
    if (search === null && isMembers(payload)) {
      for (const part of partsOf(payload)) {
        // There may be a million members, each of them wrong.
        if (problems.isFull) break;
        attempt(path, () => parseSearch(part, path, { arrivedAt, named: { count: 0 } }));
      }
    }
    return search;
  });
  if (members !== null) {
    attempt("read_level", () => parseReadLevel(members["read_level"]));
    for (const key of Object.keys(members)) {
      if (warnings.isFull) break;
      if (!BODY_MEMBERS.includes(key)) warnings.add(ignored(key));
    }
  }
  return { problems: problems.list, warnings: warnings.list, searches };
}

/** Payloads with one member each, beside the rank that some of them need. */
function* partsOf(payload: Members): Generator<Members> {
  const hasRank = (payload["rank"] ?? null) !== null;
  for (const [key, value] of Object.entries(payload)) {
    yield { ...(hasRank && { rank: SOME_RANK }), [key]: value };
  }
}

function ignored(key: string): Finding {
  const path = memberPath("", key);
  const { message } = invalid(path, `is unknown, expected ${listOf(BODY_MEMBERS)}; a search ignores it`);
  return { path, code: "ignored_member", message };
}
