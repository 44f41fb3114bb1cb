/** Request number `index` of a seed: a route that the server has, asked almost as it wants to be asked. */
import { READ_TOKEN } from "../../packages/server/src/openapi/testing/accepted-bodies.ts";
import { mutatedBytes } from "./byte-mutations.ts";
import { Dice } from "./dice.ts";
import { toTree, writeTree } from "./json-tree.ts";
import { requestHeaders } from "./request-headers.ts";
import { mutatedPath, pathOf, queryString } from "./request-path.ts";
import type { RouteGrammar } from "./route-grammar.ts";
import { mutated } from "./tree-mutations.ts";
import type { Framing, WireRequest } from "./wire-request.ts";

export interface MadeRequest {
  /** What it was made for; the path may have become another one's. */
  readonly grammar: RouteGrammar;
  readonly request: WireRequest;
  /** Method and path are the route's. */
  readonly onRoute: boolean;
}

/** Largest body: what a caller may expect an answer to within seconds. */
const MAX_BODY_BYTES = 65_536;
const OTHER_METHODS = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "get",
  "FOO",
];
const LIES: readonly Framing[] = ["claims-more", "claims-less", "both", "bad-length", "bad-chunk"];
const ANY_BODY = toTree({ ids: ["a"], where: { a: { $gt: 1 } }, name: "abc", limit: 2 });

export class RequestGenerator {
  readonly #seed: number;
  readonly #weighted: readonly (readonly [number, RouteGrammar])[];

  constructor(seed: number, grammars: readonly RouteGrammar[]) {
    this.#seed = seed;
    this.#weighted = grammars.map((grammar) => [grammar.weight, grammar]);
  }

  make(index: number): MadeRequest {
    const dice = new Dice(this.#seed, index);
    const grammar = dice.weighted(this.#weighted);
    const otherMethod = dice.chance(0.04);
    const otherPath = dice.chance(0.06);
    const path = pathOf(grammar.path, dice);
    const body = requestBody(grammar, dice);
    const request: WireRequest = {
      method: otherMethod ? dice.pick(OTHER_METHODS) : grammar.method,
      path: (otherPath ? mutatedPath(path, dice) : path) + queryString(grammar.query, dice),
      headers: requestHeaders(grammar.surface, body !== null, dice),
      body,
      framing: dice.chance(0.02) ? dice.pick(LIES) : dice.chance(0.05) ? "chunked" : "length",
    };
    return { grammar, request, onRoute: !otherMethod && !otherPath };
  }
}

function requestBody({ bodies, fitting }: RouteGrammar, dice: Dice): Buffer | null {
  if (bodies.length === 0 ? !dice.chance(0.1) : dice.chance(0.02)) return null;
  const pool = fitting.length > 0 && dice.chance(0.6) ? fitting : bodies;
  const tree = pool.length === 0 ? ANY_BODY : dice.pick(pool);
  const text = writeTree(mutated(tree, changes(dice), bodies, dice));
  // A token of this server, so that there is something behind the check of it.
  const body = Buffer.from(dice.chance(0.5) ? text.replaceAll(String(READ_TOKEN), "{{token}}") : text);
  const bytes = dice.chance(0.08) ? mutatedBytes(body, dice) : body;
  return bytes.subarray(0, MAX_BODY_BYTES);
}

function changes(dice: Dice): number {
  return dice.weighted([
    [5, 0],
    [4, 1],
    [2, 2],
    [1, 3 + dice.below(8)],
  ]);
}
