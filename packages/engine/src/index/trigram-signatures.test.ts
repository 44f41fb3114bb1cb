import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEGMENT_ROWS, listBits } from "./row-set.ts";
import { TrigramSignatures } from "./trigram-signatures.ts";
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
    const documents = Array.from({ length: SEGMENT_ROWS }, (_, i) => `record ${i} of the series`);
    expect(rows(signaturesOf(documents), "record 1234 of")).toContain(1_234);
    expect(rows(signaturesOf(documents), "record 1234 of").length).toBeLessThan(40);
    expect(rows(signaturesOf(documents), "nowhere near")).toStrictEqual([]);
  });

  it("keeps what it cannot look into", () => {
    const signatures = signaturesOf(["x".repeat(20_000), "a \ud800 b", "short", null]);
    expect(rows(signatures, "absent")).toStrictEqual([0, 1]);
    expect(rows(signatures, "")).toStrictEqual([0, 1, 2]);
  });

  it("tells the same of a row that moved", () => {
    const source = signaturesOf(["the fox", null, "y".repeat(20_000)]);
    const target = new TrigramSignatures(4_096);
    for (const row of [0, 1, 2]) target.copy(row + 100, source, row);
    expect(rows(target, "fox")).toStrictEqual([100, 102]);
    expect(rows(target, "dog")).toStrictEqual([102]);
  });
});
