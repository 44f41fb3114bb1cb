import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/e2e/testing/served-sheaf.ts";
import { normal, seededRandom } from "../../measure/random.ts";
import { recordContent } from "../../search/workload/record-content.ts";
import { VectorFile, toFloats, writeVectorFile } from "../data/vector-file.ts";
import { ENCODINGS, writeBody } from "./write-body.ts";

const [rows, dimension] = [2_500, 5];
const [from, to] = [1_000, 1_200];

interface Body {
  readonly ids: readonly string[];
  readonly embeddings: readonly (readonly number[] | string)[];
  readonly documents: readonly string[];
  readonly metadatas: readonly object[];
}

describe("a body of rows from a file", () => {
  let folder = "";
  let file: VectorFile;
  const random = seededRandom(3);
  const written = Array.from({ length: rows }, () =>
    new Float32Array(dimension).map(() => normal(random) / 20),
  );

  beforeAll(async () => {
    folder = await temporaryFolder();
    const path = join(folder, "vectors");
    let row = 0;
    writeVectorFile(path, rows, () => written[row++]!);
    file = new VectorFile(path, dimension);
  });

  afterAll(async () => {
    file.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(ENCODINGS)("holds the vectors as they are in the file, as %s", (encoding) => {
    const groups = new Uint16Array(to - from).map((_, index) => index % 20);
    const vectors = file.read(from, to);
    const body = JSON.parse(writeBody({ from, dimension, vectors, groups }, encoding).toString()) as Body;
    const floats = toFloats(vectors);
    for (let index = 0; index < to - from; index++) {
      const { id, document, metadata } = recordContent(from + index, groups[index]!);
      expect([body.ids[index], body.documents[index], body.metadatas[index]]).toEqual([
        id,
        document,
        metadata,
      ]);
      const embedding = body.embeddings[index]!;
      const read = typeof embedding === "string" ? decoded(embedding) : [...embedding];
      expect(read).toEqual([...floats.subarray(index * dimension, (index + 1) * dimension)]);
      for (const [j, value] of read.entries()) expect(value).toBeCloseTo(written[from + index]![j]!, 4);
    }
  });

  it("ends where the file ends", () => {
    expect(() => file.read(rows - 1, rows + 1)).toThrow(/beyond the end/);
  });
});

function decoded(base64: string): number[] {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, "base64");
  return [...new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))];
}
