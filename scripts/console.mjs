/** `npm run console [-- FOLDER]`: install, build, then a server with the text of a folder and its console. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { installPackages, run } from "./install.mjs";

const WRONG_USAGE = 2;

const [place, ...more] = process.argv.slice(2);
// npm runs scripts in the folder of the package, and says in which folder its user is.
const path = place === undefined ? null : resolve(process.env.INIT_CWD ?? process.cwd(), place);
if (more.length > 0 || (path !== null && !existsSync(path))) {
  console.error("console: name a folder of Markdown and text, or none: npm run console -- FOLDER");
  process.exit(WRONG_USAGE);
}
// Ctrl-C reaches the server's script too, which removes what it has made.
process.on("SIGINT", () => {});
installPackages();
console.log("Building…");
run("npm", ["run", "--silent", "build"]);
run(process.execPath, [
  "--conditions=@sheaf/source",
  "--import",
  "tsx",
  "scripts/console/main.ts",
  ...(path === null ? [] : [path]),
]);
