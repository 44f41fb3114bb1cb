/** `npm run quickstart [-- FOLDER "question"]`: install, build, then the tour in quickstart/main.ts. */
import { installPackages, run } from "./install.mjs";

installPackages();
console.log("Building…");
run("npm", ["run", "--silent", "build"]);
run(process.execPath, [
  "--conditions=@sheaf/source",
  "--import",
  "tsx",
  "scripts/quickstart/main.ts",
  ...process.argv.slice(2),
]);
