/** `npm run verify`: install, then every check and every test but the long lanes (`npm run test:long`); the test runner's summary comes last. */
import { installPackages, run } from "./install.mjs";

installPackages();
for (const script of ["build", "format:check", "lint", "typecheck", "unused"]) {
  console.log(`\n> ${script}`);
  run("npm", ["run", "--silent", script]);
}
console.log("\n> test");
run("npx", ["vitest", "run", ...["unit", "engine", "e2e", "alone"].map((name) => `--project=${name}`)]);
