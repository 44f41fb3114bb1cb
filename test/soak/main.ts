/**
 * `npm run soak -- --minutes 60`: steady traffic that deletes as much as it adds, on a server of its own, while the memory of
 * each process and the disk are measured. They have to come to a plateau. Ends with 1 at a wrong answer and where
 * anything still grows by more than the goal after the first quarter.
 */
import { parseArgs } from "node:util";
import { textTable } from "../../benchmarks/measure/text-table.ts";
import { GOAL_MIB_PER_HOUR, slopes } from "./growth.ts";
import { runSoak } from "./run-soak.ts";

/** A run that is shorter says nothing of a plateau. */
const LEAST_MINUTES = 30;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    collections: { type: "string", default: "40" },
    rate: { type: "string", default: "25" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const minutes = Number(values.minutes);
const options = {
  minutes,
  collections: Number(values.collections),
  rate: Number(values.rate),
  seed: Number(values.seed),
  sampleMs: Math.max(1_000, (minutes * 60_000) / 240),
  log: (line: string) => console.log(line),
};
console.log(`soak: ${JSON.stringify(options)}`);
const { samples, requests, putOff, problems } = await runSoak(options);
const growth = slopes(samples);
console.log(
  textTable(
    ["", "first", "after a quarter", "last", "MiB/h since"],
    growth.map(({ name, first, quarter, last, perHour }) => [
      name,
      ...[first, quarter, last, perHour].map((value) => value.toFixed(1)),
    ]),
  ),
);
for (const problem of problems) console.error(problem);
const growing = growth.filter(({ perHour }) => perHour > GOAL_MIB_PER_HOUR).map(({ name }) => name);
console.log(
  `${requests} requests, ${putOff} put off, ${problems.length} problems; goal of ${GOAL_MIB_PER_HOUR} MiB/h: ` +
    (growing.length === 0 ? "held" : `missed by ${growing.join(", ")}`),
);
if (problems.length > 0 || (minutes >= LEAST_MINUTES && growing.length > 0)) process.exitCode = 1;
