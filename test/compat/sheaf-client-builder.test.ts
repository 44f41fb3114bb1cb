/** `Search` of `@sheaf/client` against the real command: what Chroma's `Search` has not. */
import { type Highlight, K, Search, SheafClient, type Snippet } from "@sheaf/client";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";

let served: ServedSheaf;
let client: SheafClient;
beforeAll(async () => {
  served = await ServedSheaf.start();
  client = new SheafClient({ url: served.url, key: ROOT_KEY });
});
afterAll(() => served.dispose());

describe("a search put together step by step", () => {
  it("orders by the metadata, and says where documents match", async () => {
    const collection = await client.createCollection<{ n: number }>({ name: "built" });
    await collection.add({
      records: [
        { id: "a", embedding: [1], document: "the tide and the ebb", metadata: { n: 1 } },
        { id: "b", embedding: [2], document: "a high tide", metadata: { n: 2 } },
      ],
    });
    const search = new Search().orderBy([{ n: "desc" }]).select("n");
    expect(search.toPayload()).toMatchObject({ order_by: [{ n: "desc" }] });
    expect(await collection.search(search)).toEqual([
      { id: "b", metadata: { n: 2 } },
      { id: "a", metadata: { n: 1 } },
    ]);

    const tide = search.where(K.DOCUMENT.contains("tide")).limit(1);
    const marked = tide.highlight({ snippet: 8 });
    expect(marked.toPayload().highlight).toEqual({ snippet: 8 });
    const [found] = await collection.search(marked);
    expectTypeOf(found).toExtend<
      { readonly highlights: readonly Highlight[] | null; readonly snippet: Snippet | null } | undefined
    >();
    const highlights = [{ start: 7, end: 11, by: ["$contains"] }];
    expect(found).toMatchObject({ id: "b", highlights, snippet: { text: expect.stringContaining("tide") } });

    const [plain, lit] = await collection.searchAll({ searches: [tide, tide.highlight()] });
    expectTypeOf(plain[0]).not.toHaveProperty("highlights");
    expect([plain[0], lit[0]?.highlights]).toEqual([{ id: "b", metadata: { n: 2 } }, highlights]);
    const explained = await collection.explainSearch(
      new Search({ highlight: true }).where(K.DOCUMENT.contains("ebb")),
    );
    expect(explained.rows).toMatchObject([
      { id: "a", highlights: [{ start: 17, end: 20, by: ["$contains"] }] },
    ]);
  });
});
