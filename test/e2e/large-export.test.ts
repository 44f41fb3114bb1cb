/** The memory of `sheaf export` and `sheaf import` does not grow with what they carry. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LinesFile, writeLines } from "./testing/lines-file.ts";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { watchedSheaf } from "./testing/watched-command.ts";

const MIB = 2 ** 20;
/** Of 384 dimensions, 8 KB each. */
const SIZES = { small: 2_800, large: 28_000 };
type Size = keyof typeof SIZES;

let folder: string;
let served: ServedSheaf;
const files: Partial<Record<Size, LinesFile>> = {};
beforeAll(async () => {
  folder = await temporaryFolder();
  served = await ServedSheaf.start({ args: ["--backup-folder", join(folder, "backups")] });
  for (const size of ["small", "large"] as const) files[size] = writeLines(lines(size), SIZES[size]);
});
afterAll(async () => {
  await served.dispose();
  await rm(folder, { recursive: true, force: true });
});

const lines = (size: Size): string => join(folder, `${size}.jsonl`);

/** Of the small one and the large one, each in a command of its own. */
async function peaks(args: (size: Size) => readonly string[]): Promise<readonly [number, number]> {
  const measured: number[] = [];
  for (const size of ["small", "large"] as const) {
    const { code, output, peakBytes } = await watchedSheaf(served.url, args(size));
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining(`${SIZES[size]} records `),
    });
    measured.push(peakBytes);
  }
  return measured as [number, number];
}

/** Ten times as much may leave more to a collector of garbage that runs now and then, and no more than that. */
function expectFlat([small, large]: readonly [number, number]): void {
  console.log(`peak of the small one ${small / MIB} MiB, of the large one ${large / MIB} MiB`);
  expect(small).toBeGreaterThan(0);
  expect(large - small).toBeLessThan((files.large!.bytes - files.small!.bytes) / 3);
}

it("of neither the large file's import nor the large collection's export", async () => {
  expect(files.large!.bytes).toBeGreaterThan(200 * MIB);
  expectFlat(await peaks((size) => ["import", lines(size), "--collection", `${size}-one`, "--create"]));
  expect(await watchedSheaf(served.url, ["backup", "both"])).toMatchObject({ code: 0 });
  const backup = join(folder, "backups", "both");
  const to = (size: Size): string => join(folder, `${size}-again.jsonl`);
  expectFlat(await peaks((size) => ["export", backup, "--collection", `${size}-one`, "--to", to(size)]));
});
