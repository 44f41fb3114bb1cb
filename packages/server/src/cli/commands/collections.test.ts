/** `sheaf collections …` against a server that listens. */
import { describe, expect, it } from "vitest";
import { useCli } from "../../testing/cli-test.ts";
import { COLLECTIONS, MINILM, ROOT_KEY } from "../../testing/test-app.ts";
import { main } from "../main.ts";

const FORMER = { identifier: MINILM, revision: "former", digest: `sha256:${"0".repeat(64)}` };
const EMBEDS = { embedding_function: { type: "known", name: "default", config: {} } };

const cli = useCli();
const { out, errors } = cli;

function accept(...args: readonly string[]): Promise<number> {
  return main(["collections", "accept-model", ...args, "--url", cli.url, "--key", ROOT_KEY]);
}

/** A collection that remembers other weights than those of this server. */
async function outdated(name: string): Promise<string> {
  const path = await cli.app.makeCollection({ name, configuration: EMBEDS });
  const at = { tenant: "default_tenant", database: "default_database" };
  await cli.app.engine.rememberModels({ ...at, id: path.slice(COLLECTIONS.length + 1) }, [FORMER]);
  return path;
}

describe("sheaf collections accept-model", () => {
  it("says what it has accepted, and texts are taken again", async () => {
    const path = await outdated("notes");
    const json = { ids: ["a"], documents: ["text"] };
    expect((await cli.app.ask(`POST ${path}/add`, { json })).status).toBe(409);
    expect(await accept("notes")).toBe(0);
    expect(out.join("\n")).toMatch(
      /^notes embeds with \S+ of revision 1110a243-f16 \(sha256:[0-9a-f]{64}\) now, no more of revision former \(sha256:0{64}\)$/u,
    );
    expect((await cli.app.ask(`POST ${path}/add`, { json })).status).toBe(201);
    out.length = 0;
    expect(await accept("notes")).toBe(0);
    expect(out).toEqual(["nothing to accept: notes remembers no other weights"]);
  });

  it("prints the answer of the server as JSON", async () => {
    await outdated("json");
    expect(await accept("json", "--json")).toBe(0);
    expect(JSON.parse(out.join("\n"))).toMatchObject({
      accepted: [{ model: MINILM, before: { revision: "former", digest: FORMER.digest } }],
    });
  });

  it.each([
    [["nowhere"], 1, "Collection [nowhere] does not exist"],
    [["notes", "--tenant", "no body"], 1, "Collection [notes] does not exist"],
    [["notes", "--database", "nothing"], 1, "Collection [notes] does not exist"],
    [[], 2, "missing required argument 'name'"],
  ])("%j ends with %i and says why", async (args, code, message) => {
    expect(await accept(...args)).toBe(code);
    expect(errors.join("\n")).toContain(message);
  });
});

describe("sheaf collections delete", () => {
  it("deletes one by its name, and says so", async () => {
    const path = await cli.app.makeCollection({ name: "gone" });
    expect(await main(["collections", "delete", "gone", "--url", cli.url, "--key", ROOT_KEY])).toBe(0);
    expect(out).toEqual(["deleted gone"]);
    expect((await cli.app.ask(`GET ${path}`)).status).toBe(404);
    expect(await main(["collections", "delete", "gone", "--url", cli.url, "--key", ROOT_KEY])).toBe(1);
    expect(errors.join("\n")).toContain("Collection [gone] does not exist");
  });
});

describe("sheaf collections create and list", () => {
  const collections = (...args: readonly string[]): Promise<number> =>
    main(["collections", ...args, "--url", cli.url, "--key", ROOT_KEY]);

  it("make collections that embed, cut or take vectors, and list them", async () => {
    const cut = ["--chunking", "tokens", "--tokens", "64", "--overlap", "8"];
    expect(await collections("create", "made-hybrid", ...cut)).toBe(0);
    expect(await collections("create", "made-vectors", "--vectors")).toBe(0);
    expect(await collections("create", "made-vectors", "--vectors")).toBe(1);
    expect(await collections("create", "made-vectors", "--vectors", "--if-absent")).toBe(0);
    expect(out).toEqual(["collection made-hybrid", ...Array<string>(2).fill("collection made-vectors")]);
    out.length = 0;
    expect(await collections("list")).toBe(0);
    expect(out.filter((name) => name.startsWith("made-"))).toEqual(["made-hybrid", "made-vectors"]);
    out.length = 0;
    expect(await collections("list", "--json")).toBe(0);
    const listed = JSON.parse(out.join("\n")) as readonly { readonly name: string }[];
    expect(listed.find(({ name }) => name === "made-hybrid")).toMatchObject({
      schema: {
        chunking: { by: "tokens", size: 64, overlap: 8 },
        keys: { bm25: { sparse_vector: { sparse_vector_index: { enabled: true } } } },
      },
    });
  });

  it.each([
    [["--vectors", "--chunking", "tokens"], 2, "--vectors is for"],
    [["--tokens", "64"], 2, "--tokens needs --chunking"],
    [["--chunking", "words"], 1, "schema.chunking.by: must be"],
    [["--chunking", "tokens", "--tokens", "many"], 2, "--tokens: must be a number"],
    [["--chunking", "tokens", "--tokens", "4"], 1, "schema.chunking.size: must lie within"],
    [["--model", "no/such"], 1, "no/such"],
  ])("refuse %j", async (args, code, message) => {
    expect(await collections("create", "refused", ...args)).toBe(code);
    expect(errors.join("\n")).toContain(message);
  });
});
