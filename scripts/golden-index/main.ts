/**
 * `node --conditions=@sheaf/source --import tsx scripts/golden-index/main.ts`: writes the golden index files of a new
 * version of the format. Those that are there are never replaced: a later Sheaf must read what an earlier one wrote.
 */
import { fileURLToPath } from "node:url";
import { FolderFiles } from "../../packages/engine/src/storage/files/folder-files.ts";
import { writeGoldenIndex } from "../../packages/engine/src/storage/files/testing/golden-index.ts";

const folder = new URL("../../packages/engine/src/storage/files/golden-v1/", import.meta.url);
await writeGoldenIndex(new FolderFiles(fileURLToPath(folder)));
