/**
 * `npm run bench:files -- [--rows 131072] [--dim 384]`: one index file with bf16 rows, on the disk of the temporary folder:
 * writing, checksums, opening, reading at random and going through all of it, beside what the system takes for the same;
 * then what filters look at, and what a filter costs that reads it for the first time; then a whole segment of vectors.
 */
import { mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32c } from "../../packages/engine/src/storage/values/crc32c.ts";
import { FolderFiles } from "../../packages/engine/src/storage/files/folder-files.ts";
import { openSections } from "../../packages/engine/src/storage/files/section-reader.ts";
import { writeSections } from "../../packages/engine/src/storage/files/section-writer.ts";
import { measureDense } from "./dense.ts";
import { measureFilters } from "./filters.ts";
import { textTable } from "../measure/text-table.ts";
import { readOptions } from "../measure/read-options.ts";

const READS = 20_000;
const ROUNDS = 5;

const { values } = readOptions("bench:files -- [--rows 131072] [--dim 384]", {
  options: { rows: { type: "string", default: "131072" }, dim: { type: "string", default: "384" } },
});
const rows = Number(values.rows);
const rowBytes = Number(values.dim) * 2;
const bytes = rows * rowBytes;
const folder = mkdtempSync(join(tmpdir(), "sheaf-files-"));
const table: string[][] = [];

try {
  const content = new Uint8Array(bytes).map((_, i) => i * 31);
  const files = new FolderFiles(folder);
  const write = (kind: "stream" | "rows") => async (): Promise<void> => {
    await files.remove(`${kind}.seg`);
    await writeSections(files, `${kind}.seg`, async (writer) => {
      if (kind === "stream") await writer.stream("lists");
      else await writer.rows("bf16", rowBytes);
      await writer.write(content);
    });
  };
  await throughput("CRC-32C in memory", () => void crc32c(content));
  await throughput("write a stream, synced", write("stream"));
  await throughput("write rows, synced", write("rows"));
  const identities = await Promise.all(["stream", "rows"].map((kind) => identityOf(`${kind}.seg`)));
  await each("open and close", 200, async () => {
    await (await openSections(files, identities[1]!)).close();
  });
  const [stream, row] = await Promise.all(identities.map((identity) => openSections(files, identity)));
  const all = new Uint8Array(bytes);
  await throughput("read a stream", () => void stream!.stream("lists").tryRead(all, 0));
  await throughput("read rows in turn", () => void row!.rows("bf16", rowBytes).tryRead(all, 0));
  await throughput("verify a stream", async () => {
    for await (const piece of stream!.verify()) if (piece === 0) throw new Error("nothing was read");
  });
  await throughput("verify rows", async () => {
    for await (const piece of row!.verify()) if (piece === 0) throw new Error("nothing was read");
  });
  const places = Array.from({ length: READS }, () => Math.floor(Math.random() * rows));
  const into = new Uint8Array(rowBytes);
  const section = row!.rows("bf16", rowBytes);
  await each("read a row at random", READS, (i) => void section.tryRead(into, places[i]!));
  const descriptor = openSync(join(folder, "rows.seg"), "r");
  await each("the same by readSync alone", READS, (i) => {
    readSync(descriptor, into, 0, rowBytes, places[i]! * rowBytes);
  });
  await Promise.all([stream!.close(), row!.close()]);
  console.log(`${rows} rows of ${rowBytes} bytes; best of ${ROUNDS}\n`);
  console.log(textTable(["", "best", ""], table));
  console.log(`\n${rows} rows with metadata, documents and sparse vectors, in blocks\n`);
  console.log(textTable(["", "best", ""], await measureFilters(files, rows)));
  console.log(`\nA segment of ${rows} vectors of ${values.dim} dimensions\n`);
  console.log(textTable(["", "", ""], await measureDense(files, rows, Number(values.dim))));

  async function identityOf(name: string): Promise<{ name: string; crc: number }> {
    const file = (await files.open(name))!;
    const trailer = Buffer.alloc(16);
    file.tryRead(trailer, file.size - 16);
    await file.close();
    return { name, crc: trailer.readUInt32LE(4) };
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function throughput(name: string, run: () => void | Promise<void>): Promise<void> {
  table.push([name, (bytes / (await best(run)) / 1e6).toFixed(2), "GB/s"]);
}

async function each(name: string, count: number, run: (i: number) => void | Promise<void>): Promise<void> {
  const ms = await best(async () => {
    for (let i = 0; i < count; i++) {
      const pending = run(i);
      if (pending !== undefined) await pending;
    }
  });
  table.push([name, ((ms / count) * 1_000).toFixed(2), "us"]);
}

async function best(run: () => void | Promise<void>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
