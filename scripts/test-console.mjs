/**
 * The console in a browser: `npm run test:console`. With `-- --pictures docs/guide/pictures` it also writes the pictures of the
 * guide there. Other arguments go to Vitest.
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const given = process.argv.slice(2);
const at = given.indexOf("--pictures");
const folder = at === -1 ? undefined : given[at + 1];
if (at !== -1 && folder === undefined) {
  console.error("--pictures: needs a folder, such as docs/guide/pictures");
  process.exit(2);
}
const rest = at === -1 ? given : given.toSpliced(at, 2);
const env = { ...process.env, ...(folder !== undefined && { SHEAF_CONSOLE_PICTURES: resolve(folder) }) };

for (const [command, ...args] of [
  ["npm", "run", "-s", "build"],
  ["npx", "vitest", "run", "--config", "test/console/vitest.config.ts", ...rest],
]) {
  const { status } = spawnSync(command, args, { env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
