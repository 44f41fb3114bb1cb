/** `sheaf import FILE.parquet`, by the real command. */
import { existsSync } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const COUNT = 1_200;
const WRONG = 700;

let folder: string;
let file: string;
let served: ServedSheaf;

beforeAll(async () => {
  folder = await temporaryFolder();
  file = join(folder, "vectors.parquet");
  served = await ServedSheaf.start();
  const rows = Array.from({ length: COUNT }, (_, i) => i);
  const buffer = parquetWriteBuffer({
    rowGroupSize: 500,
    columnData: [
      { name: "key", data: rows.map((i) => `r${i}`), type: "STRING" },
      { name: "vector", data: rows.map((i) => (i === WRONG ? [1] : [i, 0.5])) },
      { name: "year", data: rows.map((i) => BigInt(i)), type: "INT64" },
      { name: "weight", data: rows.map((i) => i / 2), type: "DOUBLE" },
    ],
  });
  await writeFile(file, new Uint8Array(buffer));
});
afterAll(async () => {
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

const imported = (...args: readonly string[]): Promise<EndedCommand> =>
  sheafAt(served.url, ["import", file, "--into", "vectors", "--create", ...args]);

it("writes the rows, names the refused ones, and goes on where it was interrupted", async () => {
  expect(await imported()).toMatchObject({
    code: 2,
    output: expect.stringContaining("has no column id; --id-column names one of key, vector, year, weight"),
  });
  const columns = ["--id-column", "key", "--embedding-column", "vector"];
  expect(await imported(...columns)).toMatchObject({
    code: 1,
    output: expect.stringContaining(`${COUNT - 1} records written to vectors; refused: 1, see `),
  });
  const refused = JSON.parse(await readFile(`${file}.refused.jsonl`, "utf8")) as object;
  expect(refused).toMatchObject({ line: WRONG + 1, id: `r${WRONG}` });
  const { id } = await served.ask<{ readonly id: string }>(`${COLLECTIONS}/vectors`);
  const include = ["embeddings", "metadatas"];
  const answer = await served.request(`${COLLECTIONS}/${id}/get`, { json: { ids: ["r4"], include } });
  expect(await answer.text()).toContain('"weight":2.0');
  expect(await served.ask(`${COLLECTIONS}/${id}/get`, { ids: ["r5"], include })).toMatchObject({
    embeddings: [[5, 0.5]],
    metadatas: [{ year: 5, weight: 2.5 }],
  });
  // An earlier run came as far as that, and was killed.
  const collection = `${COLLECTIONS}/${id}`;
  const named = JSON.stringify({ id: "key", embedding: "vector" });
  const { size, mtimeMs } = await stat(file);
  const source = `${collection} ${named} ${size} ${mtimeMs}`;
  await writeFile(`${file}.import.json`, JSON.stringify({ source, lines: 1_000 }));
  expect(await imported(...columns)).toMatchObject({
    code: 0,
    output: expect.stringContaining("200 records written to vectors (from line 1001 on)"),
  });
  expect(existsSync(`${file}.import.json`)).toBe(false);
});
