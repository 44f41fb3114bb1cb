/** `npm run quickstart [-- FOLDER "question"]`: install, build, then the tour in quickstart/main.ts. */
import { resolve } from "node:path";
import { installPackages, run } from "./install.mjs";

// npm runs scripts in the folder of the package, and says in which folder its user is.
const [place, ...rest] = process.argv.slice(2);
const given = place === undefined ? [] : [resolve(process.env.INIT_CWD ?? process.cwd(), place), ...rest];

installPackages();
console.log("Building…");
run("npm", ["run", "--silent", "build"]);
run(process.execPath, [
  "--conditions=@sheaf/source",
  "--import",
  "tsx",
  "scripts/quickstart/main.ts",
  ...given,
]);
