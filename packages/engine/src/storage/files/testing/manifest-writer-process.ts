/** Installs one manifest after another, and says which are on disk, until it is killed. */
import { FolderFiles } from "../folder-files.ts";
import { type Manifest, installManifest } from "../manifest.ts";

const [folder, first] = process.argv.slice(2) as [string, string];
const files = new FolderFiles(folder);
const lineage = "0d9a2d3c-5c41-4f0c-8f3b-53a1f2f0e6b7";
for (let n = Number(first); ; n++) {
  const head = { sequence: n, nextOffset: n, dimension: 8 };
  const fixed: Pick<Manifest, "space" | "sparse" | "kinds"> = { space: "l2", sparse: [], kinds: [] };
  const segments = Array.from({ length: n % 300 }, (_, i) => ({ name: `${i}.seg`, crc: n, rows: n }));
  await installManifest(files, { ...fixed, n, lineage, covers: n, head, segments, deadRows: null });
  process.stdout.write(`${n}\n`);
}
