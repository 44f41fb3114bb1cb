/** What is offered while a filter or a search is typed; `|` is the caret. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completed, completionAt, spotAt } from "../parts/complete-json.ts";
import { filterGrammar, searchGrammar } from "./search-words.ts";

const WORDS = { keys: ["room", 'a "quoted" key'], indexes: ["#embedding", "bm25"] };
const FILTER = filterGrammar(WORDS);
const SEARCH = searchGrammar(WORDS);

function offered(text: string, grammar: typeof FILTER): readonly string[] {
  return completionAt(text.replace("|", ""), text.indexOf("|"), grammar)?.options ?? [];
}

describe("a filter", () => {
  it.each([
    ['{"|', ["room", 'a "quoted" key', "$and", "$or", "#id", "#document"]],
    ['{"ro|', ["room"]],
    ['{"room": {"$g|', ["$gt", "$gte"]],
    ['{"$and": [{"room": "sea"}, {"#doc|"}]}', ["#document"]],
    ['{"#document": {"$r|', ["$regex"]],
    ['{"#document": {"$|', ["$contains", "$not_contains", "$regex", "$not_regex"]],
    ['{"a\\"b": {"$i|', ["$in"]],
    ['{"room": "s|', []],
    ['{"room"|: 1}', []],
    ['{"room": {"$in": ["|', []],
  ])("%s offers %j", (text, options) => {
    expect(offered(text, FILTER)).toEqual(options);
  });
});

describe("a search", () => {
  it.each([
    ['{"r|', ["rank", "where", "mmr", "group_by", "order_by"]],
    ['{"where": {"$or": [{"ro|', ["room"]],
    ['{"rank": {"$mul": [{"$v|', ["$val"]],
    ['{"rank": {"$knn": {"key": "|', ["#embedding", "bm25"]],
    ['{"rank": {"$div": {"left": {"$val": 1}, "r|', ["right"]],
    ['{"limit": {"off|', ["offset"]],
    ['{"select": {"keys": ["#doc|', ["#document"]],
    ['{"group_by": {"keys": ["ro|', ["room"]],
  ])("%s offers %j", (text, options) => {
    expect(offered(text, SEARCH)).toEqual(options);
  });
});

describe("what is taken", () => {
  it.each([
    ['{"ro|', "room", '{"room": |'],
    ['{"ro|"', "room", '{"room": |'],
    ['{"ro|": 1}', "room", '{"room"|: 1}'],
    ['{"rank": {"$knn": {"key": "b|"}}}', "bm25", '{"rank": {"$knn": {"key": "bm25"|}}}'],
    ['{"|', 'a "quoted" key', '{"a \\"quoted\\" key": |'],
  ])("in %s", (text, option, expected) => {
    const at = text.indexOf("|");
    const plain = text.replace("|", "");
    const { text: made, caret } = completed(plain, spotAt(plain, at)!, option);
    expect(`${made.slice(0, caret)}|${made.slice(caret)}`).toBe(expected);
  });

  it("never throws, whatever is typed", () => {
    const piece = fc.constantFrom("{", "}", "[", "]", ":", ",", '"', "\\", "a", "$and", " ", "1", "\n", "😀");
    fc.assert(
      fc.property(fc.array(piece), fc.nat(40), (pieces, at) => {
        const text = pieces.join("");
        const completion = completionAt(text, Math.min(at, text.length), SEARCH);
        if (completion !== null) completed(text, completion.spot, "x");
      }),
    );
  });
});
