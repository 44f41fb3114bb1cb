import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  type Table,
  makeBuilder,
  tableFromArrays,
  tableToIPC,
  Table as ArrowTable,
} from "apache-arrow";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tableFormatOf, tableLines } from "./table-reader.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-tables-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Made {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly columns?: object;
  readonly from?: number;
}

async function linesOf({ name, bytes, columns = {}, from = 0 }: Made): Promise<readonly unknown[]> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  const lines: string[] = [];
  const format = tableFormatOf(name.slice(name.lastIndexOf(".")))!;
  for await (const line of tableLines({ path, format, columns, from })) lines.push(line);
  return lines;
}

const COUNT = 2_500;

function parquet(count = COUNT): Uint8Array {
  const rows = Array.from({ length: count }, (_, i) => i);
  return new Uint8Array(
    parquetWriteBuffer({
      rowGroupSize: 1_000,
      columnData: [
        { name: "id", data: rows.map((i) => `r${i}`), type: "STRING" },
        { name: "embedding", data: rows.map((i) => [i, 0.5]) },
        { name: "year", data: rows.map((i) => BigInt(i)), type: "INT64" },
        { name: "weight", data: rows.map((i) => i / 2), type: "DOUBLE" },
        { name: "tags", data: rows.map(() => ["a", "b"]) },
      ],
    }),
  );
}

describe("a Parquet file", () => {
  it("gives a line for each row, over several row groups, with the kinds of numbers", async () => {
    const lines = await linesOf({ name: "a.parquet", bytes: parquet() });
    expect(lines).toHaveLength(COUNT);
    const metadata = '{"year":2,"weight":1.0,"tags":["a","b"]}';
    expect(lines[2]).toMatch(/^\{"id":"r2","embedding":\[2(?:\.0)?,0\.5\],"metadata":/u);
    expect(lines[2]).toContain(`"metadata":${metadata}`);
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ id: `r${COUNT - 1}` });
  });

  it("is read from a row on, without those before", async () => {
    const lines = await linesOf({ name: "b.parquet", bytes: parquet(), from: 1_700 });
    expect(lines).toHaveLength(800);
    expect(lines[0]).toContain('"id":"r1700"');
  });

  it("has its ids, texts and vectors where it is told, and members of structs as keys with dots", async () => {
    const bytes = new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          { name: "key", data: [1n, 2n], type: "INT64" },
          { name: "body", data: ["text", null], type: "STRING" },
          { name: "place", data: [{ lat: 1.5, name: "x" }, null], type: "JSON" },
        ],
      }),
    );
    const columns = { id: "key", document: "body" };
    expect(await linesOf({ name: "c.parquet", bytes, columns })).toEqual([
      '{"id":"1","document":"text","metadata":{"place.lat":1.5,"place.name":"x"}}',
      '{"id":"2"}',
    ]);
    await expect(linesOf({ name: "c.parquet", bytes })).rejects.toThrow(
      "has no column id; --id-column names one of key",
    );
    const wrong = { id: "key", embedding: "vector" };
    await expect(linesOf({ name: "c.parquet", bytes, columns: wrong })).rejects.toThrow(
      "has no column vector",
    );
  });

  it("that lies in its header is refused, and not believed", async () => {
    const bytes = Buffer.from(parquet(10));
    const cut = bytes.subarray(0, bytes.length - 200);
    await expect(linesOf({ name: "d.parquet", bytes: cut })).rejects.toThrow("cannot be read");
    const long = Buffer.from(bytes);
    long.writeUInt32LE(0xfffffff0, long.length - 8);
    await expect(linesOf({ name: "d.parquet", bytes: long })).rejects.toThrow("cannot be read");
    await expect(linesOf({ name: "d.parquet", bytes: Buffer.from("PAR1 no table PAR1") })).rejects.toThrow(
      "cannot be read",
    );
  });
});

function arrow(): Table {
  const rows = [0, 1, 2];
  const type = new FixedSizeList(2, new Field("item", new Float32()));
  const builder = makeBuilder({ type });
  for (const i of rows) builder.append([i, 0.25]);
  const rest = tableFromArrays({ id: rows.map((i) => `r${i}`), year: BigInt64Array.from([1n, 2n, 3n]) });
  expect(rest.schema.fields.map((field) => field.type.constructor)).toEqual([expect.anything(), Int64]);
  return rest.assign(new ArrowTable({ embedding: builder.finish().toVector() }));
}

describe("an Arrow file", () => {
  it.each(["file", "stream"] as const)("gives a line for each row (%s)", async (form) => {
    const lines = await linesOf({ name: "a.arrow", bytes: tableToIPC(arrow(), form) });
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[2] as string)).toEqual({ id: "r2", embedding: [2, 0.25], metadata: { year: 3 } });
    expect(await linesOf({ name: "b.feather", bytes: tableToIPC(arrow(), form), from: 2 })).toHaveLength(1);
  });

  it("that is none is refused", async () => {
    const bytes = Buffer.from("this is text and no table");
    await expect(linesOf({ name: "c.arrow", bytes })).rejects.toThrow(
      /c\.arrow (?:cannot be read|took over|ended)/u,
    );
    const whole = tableToIPC(arrow(), "file");
    await expect(linesOf({ name: "d.arrow", bytes: whole.subarray(0, whole.length / 2) })).rejects.toThrow(
      /d\.arrow (?:cannot be read|ended)/u,
    );
  });
});
