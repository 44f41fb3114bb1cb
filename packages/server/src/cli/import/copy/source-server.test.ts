import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChromaSource } from "../chroma/chroma-source.ts";
import { QdrantSource } from "../qdrant/qdrant-source.ts";
import { SourceServer } from "./source-server.ts";

const MOST_BYTES = 1 << 20;
const PIECE = Buffer.alloc(1 << 16, "a");
const COLLECTION = { id: "i", name: "n", tenant: "t", database: "d" };
const PAGE = JSON.stringify(Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, name: `c${i}` })));

let server: Server;
let url: string;
/** What the server answers with to everything. */
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const chroma = (): ChromaSource => new ChromaSource({ url, token: null });
const qdrant = (): QdrantSource => new QdrantSource({ url, apiKey: null });
const say = (text: string): void => void (answer = (response) => response.end(text));

/** Writes without an end, as fast as it is read. */
function endlessly(response: ServerResponse): void {
  response.write('{"ids":["');
  const more = (): void => {
    while (!response.destroyed && response.write(PIECE));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

describe("a server that is copied from", () => {
  it("is not listened to beyond a bound", async () => {
    answer = endlessly;
    const bounded = new SourceServer({ product: "Chroma", url, headers: {}, mostBytes: MOST_BYTES });
    await expect(bounded.text("/x")).rejects.toThrow(
      `${url}/x did not answer as Chroma does: the answer is over ${MOST_BYTES} bytes`,
    );
  });

  it("is named where it answers with something else", async () => {
    for (const text of ["<html>", '[[["a"]]]', '{"a":1}', "[{}]"]) {
      say(text);
      await expect(chroma().collections("t", "d"), text).rejects.toThrow(
        /collections.* did not answer as Chroma does: /u,
      );
      await expect(qdrant().collections(), text).rejects.toThrow(
        `${url}/collections did not answer as Qdrant does: `,
      );
    }
    say("<html>");
    await expect(chroma().count(COLLECTION)).rejects.toThrow(/count did not answer as Chroma does/u);
    await expect(qdrant().count("c")).rejects.toThrow(/count did not answer as Qdrant does/u);
    await expect(qdrant().describe("c")).rejects.toThrow(/c did not answer as Qdrant does/u);
  });

  it("is named where a page has numbers that none can have", async () => {
    say('{"ids":["a"],"embeddings":[[1e999]]}');
    await expect(chroma().records(COLLECTION, 0)).rejects.toThrow(/get did not answer as Chroma does/u);
    say('{"result":{"points":[{"id":1,"vector":[1e999]}]}}');
    await expect(qdrant().points("c", null)).rejects.toThrow(/scroll did not answer as Qdrant does/u);
  });

  it("is left where it gives the same page again and again", async () => {
    say(PAGE);
    await expect(chroma().collections("t", "d")).rejects.toThrow("the same 100 again and again");
    say('{"result":{"points":[],"next_page_offset":7}}');
    await expect(qdrant().points("c", 7)).rejects.toThrow("the same page again and again");
  });

  it("has what a page holds read as it was written", async () => {
    say('{"ids":["a"],"embeddings":[[1.5]],"metadatas":[{"n":2.0}]}');
    expect(await chroma().records(COLLECTION, 0)).toMatchObject({ ids: ["a"] });
    say('[{"id":"i","name":"n"}]');
    expect(await chroma().collections("t", "d")).toEqual([COLLECTION]);
  });
});
