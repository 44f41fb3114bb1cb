/** `npm run console [-- FOLDER]`: install, build, then a server with the text of a folder and its console. */
import { existsSync } from "node:fs";
import { callersPath, runWithServer } from "./install.mjs";

const WRONG_USAGE = 2;

const [place, ...more] = process.argv.slice(2);
const path = place === undefined ? null : callersPath(place);
if (more.length > 0 || (path !== null && !existsSync(path))) {
  console.error("console: name a folder of Markdown and text, or none: npm run console -- FOLDER");
  process.exit(WRONG_USAGE);
}
runWithServer("scripts/console/main.ts", path === null ? [] : [path]);
