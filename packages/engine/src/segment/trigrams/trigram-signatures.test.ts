import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BLOCK_DOCS } from "../block-docs.ts";
import { listBits } from "../bits.ts";
import { NO_ROW, TrigramSignatures } from "./trigram-signatures.ts";
import { containing } from "./trigram-query.ts";

function signaturesOf(documents: readonly (string | null)[]): TrigramSignatures {
  const signatures = new TrigramSignatures(4_096);
  for (const [row, document] of documents.entries()) signatures.add(row, document);
  return signatures;
}

function rows(signatures: TrigramSignatures, text: string): number[] {
  return listBits(signatures.having(containing(text)));
}

describe("TrigramSignatures", () => {
  it("never rules out a document that contains the text", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "b", "c", " ", "é", "\u{1f600}"), maxLength: 30 });
    fc.assert(
      fc.property(fc.array(fc.option(texts), { maxLength: 70 }), texts, (documents, text) => {
        const found = rows(signaturesOf(documents), text);
        const wrong = documents.flatMap((document, row) =>
          found.includes(row) ? (document === null ? row : []) : document?.includes(text) === true ? row : [],
        );
        expect(wrong).toStrictEqual([]);
      }),
    );
  });

  it("leaves few others over", () => {
    const documents = Array.from({ length: BLOCK_DOCS }, (_, i) => `record ${i} of the series`);
    expect(rows(signaturesOf(documents), "record 1234 of")).toContain(1_234);
    expect(rows(signaturesOf(documents), "record 1234 of").length).toBeLessThan(40);
    expect(rows(signaturesOf(documents), "nowhere near")).toStrictEqual([]);
  });

  it("looks at the beginning of what is searched for, however long that is", () => {
    const start = "word ".repeat(1_000);
    const query = containing(`${start}${"x".repeat(100)}`);
    expect(query).toEqual(containing(start));
    expect(signaturesOf([start]).having(query)[0]).toBe(1);
  });

  it("keeps what it cannot look into", () => {
    const signatures = signaturesOf(["x".repeat(20_000), "a \ud800 b", "short", null]);
    expect(rows(signatures, "absent")).toStrictEqual([0, 1]);
    expect(rows(signatures, "")).toStrictEqual([0, 1, 2]);
  });

  it("tells the same of rows in another order", () => {
    const sources = [
      ["the fox", null, "y".repeat(20_000)],
      ["a fox", "the dog"],
    ].map(signaturesOf);
    const order = new Uint32Array(BLOCK_DOCS + 32).fill(NO_ROW);
    order.set([BLOCK_DOCS + 1, NO_ROW, 0, 2], 100);
    order.set([BLOCK_DOCS, 1], BLOCK_DOCS);
    const steps = TrigramSignatures.reordered(sources, order, BLOCK_DOCS);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect(step.value.map((signatures) => rows(signatures, "fox"))).toStrictEqual([[102, 103], [0]]);
    expect(step.value.map((signatures) => rows(signatures, "dog"))).toStrictEqual([[100, 103], []]);
    expect(step.value.map((signatures) => rows(signatures, ""))).toStrictEqual([[100, 102, 103], [0]]);
  });
});
