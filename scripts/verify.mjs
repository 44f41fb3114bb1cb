/** `npm run verify`: install, then every check and every test but the long lanes (`npm run test:long`); the test runner's summary comes last. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { installPackages, run } from "./install.mjs";

installPackages();
console.log("\n> build");
run("npm", ["run", "--silent", "build"]);
// Beside each other, for each of them has one thread to do for most of its time.
const checks = ["format:check", "lint", "typecheck", "unused"].map((script) => ({
  script,
  end: check(script),
}));
for (const { script, end } of checks) {
  const { status, output } = await end;
  console.log(`\n> ${script}`);
  process.stdout.write(output);
  if (status !== 0) process.exit(status);
}
console.log("\n> test");
run("npx", ["vitest", "run", ...["unit", "engine", "e2e", "alone"].map((name) => `--project=${name}`)]);

/** Its exit status, and all that it wrote, in one piece. */
async function check(script) {
  const child = spawn(`npm run --silent ${script} 2>&1`, {
    shell: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [status]] = await Promise.all([buffer(child.stdout), once(child, "exit")]);
  return { status: status ?? 1, output };
}
