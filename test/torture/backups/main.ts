/** `npm run torture:backups -- --cycles N`: makes backups under load, kills what makes them, and restores each one that is complete. */
import { rm } from "node:fs/promises";
import { Command } from "commander";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { tortureBackups } from "./torture-backups.ts";

const flags = new Command("torture:backups")
  .option("--cycles <number>", "how many backups are begun", Number, 100)
  .option("--seed <number>", "repeats the choices of a run", Number, Date.now() % 2 ** 31)
  .parse()
  .opts<{ readonly cycles: number; readonly seed: number }>();

const folder = await temporaryFolder();
console.log(`${flags.cycles} cycles, seed ${flags.seed}, in ${folder}`);
const tally = await tortureBackups({
  ...flags,
  folder,
  onCycle: (cycle, victim, complete) =>
    console.log(
      `${cycle + 1}/${flags.cycles}: killed: ${victim}; ${complete ? "complete, restored and equal" : "not complete"}`,
    ),
});
console.log(
  `complete and equal: ${tally.complete} (${tally.incremental} incremental); killed on the way: ${tally.killed}`,
);
await rm(folder, { recursive: true, force: true });
