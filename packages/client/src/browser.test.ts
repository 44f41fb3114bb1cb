/** The client as browsers get it: one small script that needs nothing but what they have. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

const MOST_BYTES = 15_000;

/** For browsers, so that an import of a module of Node's fails. */
async function bundle(format: "esm" | "iife"): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("index.ts", import.meta.url))],
    bundle: true,
    minify: true,
    platform: "browser",
    format,
    globalName: "sheaf",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/** What the client may use; `fetch` insists on its receiver as that of a browser does. */
function browserGlobals(): object {
  return {
    ...{ URL, URLSearchParams, AbortController, setTimeout, clearTimeout, TextDecoder, performance },
    async fetch(this: unknown, ...args: Parameters<typeof fetch>): Promise<Response> {
      if (this !== undefined) throw new TypeError("Illegal invocation");
      return fetch(...args);
    },
  };
}

describe("the client in a browser", () => {
  it("takes at most 15 kB, compressed", async () => {
    const { length } = gzipSync(await bundle("esm"), { level: 9 });
    expect(length).toBeGreaterThan(1_000);
    expect(length).toBeLessThanOrEqual(MOST_BYTES);
  });

  it("speaks to a server with what a browser has", async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        const limits = { max_batch_size: 5_461, supports_base64_encoding: true };
        response.end(
          JSON.stringify({ ...limits, id: "i", name: "n", tenant: "t", database: "d", ids: [["a"]] }),
        );
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const program = `(async () => {
        const notes = await new sheaf.SheafClient({ url: ${JSON.stringify(url)}, key: "k" }).getCollection({ name: "n" });
        await notes.add({ records: [{ id: "a", embedding: [0.5, -2] }] });
        const rank = sheaf.knn({ query: "boats" }).multiply(2);
        const hits = await notes.search({ where: sheaf.K("n").gt(1), rank, limit: 1, select: [], signal: new AbortController().signal });
        return JSON.stringify(hits);
      })()`;
      const hits: unknown = await runInNewContext(`${await bundle("iife")};${program}`, browserGlobals());
      expect(hits).toBe('[{"id":"a"}]');
      expect(bodies[2]).toBe('{"ids":["a"],"embeddings":["AAAAPwAAAMA="]}');
      expect(JSON.parse(bodies[3] ?? "")).toMatchObject({ searches: [{ where: { n: { $gt: 1 } } }] });
    } finally {
      server.close();
    }
  });
});
