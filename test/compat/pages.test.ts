/** The pages about clients: their JavaScript runs, and the table of methods and routes leaves nothing out. */
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { AdminClient, ChromaClient } from "chromadb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT_KEY, ServedSheaf } from "../e2e/testing/served-sheaf.ts";
import { expectOk } from "./testing/wire.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const METHOD = /^(?:get|post|put|patch|delete)$/u;
/** Beyond the interface of the existing clients; tested beside the server. */
const OWN =
  /^(?:GET|DELETE) \/api\/v2\/tenants(?:\/\{tenant\})?$|^POST .*\/(?:count|facets|search\/check)$|\/(?:keys|backups)\b|\/accept-model$|\/(?:livez|readyz|healthcheck)$|openapi\.json$|\/metrics$|\/api\/v2\/(?:metrics\/history|models|nodes)|\/usage$/u;
/** What is no method for callers, though it can be seen. */
const INTERNAL = new Set(
  (
    "constructor _path path embed sparseEmbed getSparseEmbeddingTargets applySparseEmbeddingsToMetadatas embedKnnLiteral " +
    "embedRankLiteral embedSearchPayload getSchemaEmbeddingFunction prepareRecords validateGet prepareQuery validateDelete"
  ).split(" "),
);

let served: ServedSheaf;
let compatibility: string;

beforeAll(async () => {
  served = await ServedSheaf.start();
  compatibility = await readFile(`${ROOT}docs/reference/compatibility.md`, "utf8");
});

afterAll(async () => {
  await served.dispose();
});

describe("README.md", () => {
  it("has a program that runs as it stands, and finds what it says", async () => {
    const [program = ""] = await blocksIn("README.md");
    const here = program.replace("http://127.0.0.1:8000", served.url);
    expect(here).not.toBe(program);
    for (let time = 0; time < 2; time++) {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--input-type=module", "--eval", here],
        { cwd: ROOT, encoding: "utf8", env: { ...process.env, SHEAF_KEY: ROOT_KEY } },
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout.split("\n")[0]).toMatch(/^-?\d\.\d{4} Ships wait for the tide\.$/u);
      expect(stdout.trim().split("\n")).toHaveLength(2);
    }
  });
});

describe("docs/guide/clients.md", () => {
  it("has JavaScript that runs", async () => {
    const blocks = await blocksIn("docs/guide/clients.md");
    expect(blocks).not.toEqual([]);
    for (const block of blocks) expect(run(block)).toMatchObject({ status: 0 });
  });
});

describe("docs/guide/typescript-client.md", () => {
  it("has JavaScript that runs, and runs again", async () => {
    const blocks = await blocksIn("docs/guide/typescript-client.md");
    expect(blocks.length).toBeGreaterThanOrEqual(4);
    const program = blocks.join("\n");
    for (let time = 0; time < 2; time++) expect(run(program)).toMatchObject({ status: 0 });
  });
});

describe("docs/reference/compatibility.md", () => {
  const collection: object = new ChromaClient({ headers: {} }).collection("any");

  it.each<[string, object]>([
    ["JavaScript: ChromaClient", ChromaClient.prototype],
    ["JavaScript: AdminClient", AdminClient.prototype],
    ["JavaScript: Collection", parentOf(parentOf(collection))],
  ])("names every method of %s, and no other", (title, prototype) => {
    const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([name, { value }]) => typeof value === "function" && !INTERNAL.has(name))
      .map(([name]) => name);
    expect(methods.length).toBeGreaterThan(5);
    expect(rowsBelow(title).toSorted()).toEqual(methods.toSorted());
  });

  it("names every route of the interface, and no other", async () => {
    const routes = ["POST /"];
    for (const path of ["/openapi.json", "/embed/openapi.json"]) {
      const { paths } = await expectOk<{ paths: Record<string, object> }>(served, { path });
      for (const [route, operations] of Object.entries(paths)) {
        const methods = Object.keys(operations).filter((name) => METHOD.test(name));
        routes.push(...methods.map((method) => `${method.toUpperCase()} ${route}`));
      }
    }
    const expected = new Set(
      // The tenants' own GET is both a route of the interface and, without a name, one of ours.
      routes.filter((route) => !OWN.test(route) || route === "GET /api/v2/tenants/{tenant}"),
    );
    const listed = rowsBelow("Routes");
    const whole = [...expected].map(
      (route) => listed.find((row) => row === route || row === shortened(route)) ?? route,
    );
    expect(listed.toSorted()).toEqual(whole.toSorted());
  });
});

async function blocksIn(page: string): Promise<readonly string[]> {
  const text = await readFile(`${ROOT}${page}`, "utf8");
  return [...text.matchAll(/^```js\n([\s\S]*?)^```$/gmu)].map((match) => match[1] ?? "");
}

function run(program: string): { readonly status: number | null; readonly stderr: string } {
  const args = ["--conditions=@sheaf/source", "--import", "tsx", "--input-type=module", "--eval", program];
  const env = { ...process.env, SHEAF_URL: served.url, SHEAF_KEY: ROOT_KEY };
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", env });
  return { status, stderr };
}

function parentOf(value: object): object {
  return Object.getPrototypeOf(value) as object;
}

/** The first column of the table below a title. */
function rowsBelow(title: string): string[] {
  const [, section = ""] = compatibility.split(`\n## ${title}\n`);
  const [table = ""] = section.split("\n## ");
  return [...table.matchAll(/^\| `([^`]+)` \|/gmu)].map((match) => match[1] ?? "");
}

/** As the table writes it: without the path above the thing itself. */
function shortened(route: string): string {
  const collection = "/api/v2/tenants/{tenant}/databases/{database}/collections/{collection}/";
  const database = "/api/v2/tenants/{tenant}/databases/{database}/";
  return route
    .replace(collection, "…/{collection}/")
    .replace(database, "…/")
    .replace("/api/v2/tenants/{tenant}/databases/{database}", "…/databases/{database}");
}
