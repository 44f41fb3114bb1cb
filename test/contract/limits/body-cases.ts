/** Bounds of a body, whatever is in it, and of the texts of an embedding call. */
import type { LimitName } from "@sheaf/protocol";
import { Edits } from "../../../packages/protocol/src/json/json-reader-lossless.ts";
import { scanJson } from "../../../packages/protocol/src/json/json-reader-scan.ts";
import { Admission } from "../../../packages/inference/src/scheduler/admission.ts";
import { MINILM } from "../../../packages/server/src/testing/test-app.ts";
import { type CaseOf, type Outcome, bySize, called, times, type Bench } from "./limit-case.ts";

const BM25 = { "x-service-embedding-model": "sheaf/bm25" };
const DENSE = { "x-service-embedding-model": MINILM };

export const BODY_CASES = {
  bodyBytes: bySize((bench, size) => getWith(bench, `{}${" ".repeat(size - 2)}`), /request body is larger/u),
  jsonDepth: bySize(
    (bench, size) => getWith(bench, `{"x":${"[".repeat(size - 1)}${"]".repeat(size - 1)}}`),
    /nested deeper/u,
  ),
  // One more than this needs a body over its own bound.
  jsonNodes: bySize(
    (_bench, size) => called(() => scanJson(Buffer.from(`[${"0,".repeat(size - 2)}0]`), new Edits(null))),
    /values/u,
  ),
  jsonContainers: bySize(
    (bench, size) => getWith(bench, `{"x":[${"[],".repeat(size - 3)}[]]}`),
    /arrays and objects/u,
  ),
  jsonMembers: bySize(
    (bench, size) => getWith(bench, `{${times(size, (i) => `"${i}":0`).join(",")}}`),
    /members/u,
  ),
  embedTexts: bySize(
    (bench, size) =>
      bench.send("POST /embed_sparse", { json: texts(...times(size, () => "a")), headers: BM25 }),
    /^texts/u,
  ),
  piecesTexts: bySize((bench, size) => {
    const json = { ...texts(...times(size, () => "a")), fetch_pieces: true };
    return bench.send("POST /embed_sparse", { json, headers: BM25 });
  }, /^texts/u),
  textBytes: (value) => ({
    // No dense model takes so much; what is refused there is the number of its tokens.
    at: (bench) => bench.send("POST /embed_sparse", { json: texts("a".repeat(value)), headers: BM25 }),
    over: (bench) => bench.send("POST /embed", { json: texts("a".repeat(value + 1)), headers: DENSE }),
    says: /^texts\[0\]/u,
  }),
  queuedTokens: queue("tokens"),
  queuedCharacters: queue("characters"),
} satisfies { readonly [name in LimitName]?: CaseOf };

async function getWith(bench: Bench, raw: string): Promise<Outcome> {
  return bench.send(`POST ${await bench.collection()}/get`, { raw });
}

function texts(...all: readonly string[]): object {
  return { texts: all, instructions: "" };
}

/** The queue of a model, with something in it: an empty one admits anything. */
function queue(unit: "tokens" | "characters"): CaseOf {
  return (value) => {
    const fill = (most: number): Promise<Outcome> =>
      called(() => {
        const admission = new Admission({ name: `the queue of ${unit}`, unit, bound: value, rate: () => 1 });
        admission.enter(1, "tenant");
        admission.enter(most - 1, "tenant");
      });
    return {
      at: () => fill(value),
      over: () => fill(value + 1),
      says: new RegExp(`^the queue of ${unit} is full`, "u"),
    };
  };
}
