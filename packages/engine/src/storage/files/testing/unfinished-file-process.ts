/** Writes a file but for its commit, says so, and only waits to be killed. */
import { FolderFiles } from "../folder-files.ts";

const [folder, name] = process.argv.slice(2) as [string, string];
const writer = await new FolderFiles(folder).create(name);
await writer.write(Buffer.alloc(100_000, 1));
process.stdout.write("written\n");
setInterval(() => {}, 60_000);
