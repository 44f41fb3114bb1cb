/**
 * `node --conditions=@sheaf/source --import tsx scripts/golden-index/main.ts`: writes the golden index files of a new
 * version of the format. Those that are there are never replaced: a later Sheaf must read what an earlier one wrote.
 */
import { fileURLToPath } from "node:url";
import { FolderFiles } from "../../packages/engine/src/storage/files/folder-files.ts";
import {
  writeGoldenFilters,
  writeGoldenLengths,
} from "../../packages/engine/src/segment/files/testing/golden-filters.ts";
import { writeGoldenSegments } from "../../packages/engine/src/segment/files/testing/golden-segments.ts";
import { writeGoldenIndex } from "../../packages/engine/src/storage/files/testing/golden-index.ts";

const folder = new URL("../../packages/engine/src/storage/files/golden-v1/", import.meta.url);
const segments = new URL("../../packages/engine/src/segment/files/golden-v1/", import.meta.url);
console.log(await writeGoldenSegments(new FolderFiles(fileURLToPath(segments))));
await writeGoldenFilters(new FolderFiles(fileURLToPath(segments)));
await writeGoldenLengths(new FolderFiles(fileURLToPath(segments)));
await writeGoldenIndex(new FolderFiles(fileURLToPath(folder)));
