/**
 * `npm run fuzz -- --requests N --seed S [--route "POST /embed"]`: asks a server of its own everything but what it
 * expects. What fails is written to test/fuzz/fixtures, to be kept there with its fix; then the exit code is 1.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { FIXTURES, runFuzz } from "./fuzz-run.ts";

const { values: flags } = parseArgs({
  options: {
    requests: { type: "string", default: "50000" },
    seed: { type: "string", default: "1" },
    route: { type: "string" },
  },
});
const seed = Number(flags.seed);

const report = await runFuzz({
  requests: Number(flags.requests),
  seed,
  route: flags.route,
  onProgress: (done) => console.error(`${done} requests`),
});
const { sent, seconds, slowest, outcomes, memory, byRoute, log, failures } = report;
console.log(
  `seed ${seed}: ${sent} requests in ${seconds.toFixed(1)} s, slowest answer ${slowest.milliseconds.toFixed(0)} ms (request ${slowest.index}: ${slowest.request.slice(0, 200)})`,
);
console.log(`answers: ${JSON.stringify(outcomes)}`);
for (const [route, counts] of Object.entries(byRoute)) console.log(`  ${route}: ${JSON.stringify(counts)}`);
console.log(
  `memory with nothing kept: ${memory.early.toFixed(0)} MiB after a third, ${memory.late.toFixed(0)} MiB at the end`,
);
if (failures.length > 0) console.log(log);
for (const { index, after, ...fixture } of failures) {
  const name = index === null ? "again" : `seed-${seed}-${index}`;
  console.log(
    `FAILED ${name}: ${fixture.why} (${fixture.method} ${fixture.path.slice(0, 200)}, after ${after})`,
  );
  if (index !== null)
    writeFileSync(new URL(`${name}.json`, FIXTURES), `${JSON.stringify(fixture, null, 2)}\n`);
}
process.exit(failures.length === 0 ? 0 : 1);
