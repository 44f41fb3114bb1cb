/**
 * Other weights under the same identifier, from one start of the server to the next: a collection refuses texts with
 * them until the operator accepts, and goes on with them from then on.
 */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";

const FIXTURES = fileURLToPath(new URL("../../packages/inference/fixtures/models", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../packages/server/bin/sheaf.mjs", import.meta.url));
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const MODEL = "Qwen/Qwen3-Embedding-0.6B";
const BY_TEXT = { searches: [{ rank: { $knn: { query: "a text" } } }] };

let data: string;
let served: ServedSheaf;
let collection: string;

beforeAll(async () => {
  data = await temporaryFolder();
  served = await serveWith("tiny-qwen3-last", "former");
  const embedding_function = { type: "known", name: "sheaf", config: { model: MODEL } };
  const body = { name: "notes", configuration: { embedding_function } };
  const { id } = await served.ask<{ id: string }>(COLLECTIONS, body);
  collection = `${COLLECTIONS}/${id}`;
});

afterAll(() => served.dispose());

async function serveWith(fixture: string, revision: string): Promise<ServedSheaf> {
  const models = join(data, "models.json");
  await writeFile(models, JSON.stringify({ [MODEL]: { path: join(FIXTURES, fixture), revision } }));
  return ServedSheaf.start({ data, args: ["--models", models] });
}

async function restartWith(fixture: string, revision: string): Promise<void> {
  expect(await served.stop()).toBe(0);
  served = await serveWith(fixture, revision);
}

async function add(id: string): Promise<Response> {
  return served.request(`${collection}/add`, { json: { ids: [id], documents: [`the text of ${id}`] } });
}

describe("a server that starts with other weights", () => {
  it("refuses texts for what was embedded with the former ones, until they are accepted", async () => {
    expect((await add("a")).status).toBe(201);
    const { embeddings } = await served.ask<{ embeddings: number[][] }>(`${collection}/get`, {
      include: ["embeddings"],
    });

    await restartWith("tiny-qwen3-last/model-bf16", "later");
    for (const refused of [await add("b"), await served.request(`${collection}/search`, { json: BY_TEXT })]) {
      expect(refused.status).toBe(409);
      const { message } = (await refused.json()) as { message: string };
      expect(message).toMatch(/revision former \(sha256:\w{12}\).*revision later \(sha256:\w{12}\)/u);
      expect(message).toContain("`sheaf collections accept-model notes`");
    }
    const byVector = { searches: [{ rank: { $knn: { query: embeddings[0] } } }] };
    expect(await served.ask(`${collection}/search`, byVector)).toMatchObject({ ids: [["a"]] });

    const { stdout } = await promisify(execFile)(
      process.execPath,
      [COMMAND, "collections", "accept-model", "notes", "--url", served.url],
      { env: { ...process.env, SHEAF_KEY: ROOT_KEY } },
    );
    expect(stdout).toContain(`notes embeds with ${MODEL} of revision later`);
    expect((await add("b")).status).toBe(201);
    await served.ask(`${collection}/search`, BY_TEXT);

    await restartWith("tiny-qwen3-last/model-bf16", "later");
    expect((await add("c")).status).toBe(201);
    expect(await served.ask(`${collection}/search`, BY_TEXT)).toMatchObject({
      ids: [expect.arrayContaining(["a", "b", "c"])],
    });

    await restartWith("tiny-qwen3-last", "former");
    expect((await add("d")).status).toBe(409);
  });
});
