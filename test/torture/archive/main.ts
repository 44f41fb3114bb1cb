/** `npm run torture:archive -- --cycles N`: kills a server with an archive, and restores it up to random moments. */
import { rm } from "node:fs/promises";
import { Command } from "commander";
import { temporaryFolder } from "../../e2e/testing/served-sheaf.ts";
import { tortureArchive } from "./torture-archive.ts";

const flags = new Command("torture:archive")
  .option("--cycles <number>", "how often it is killed", Number, 100)
  .option("--seed <number>", "repeats the choices of a run", Number, Date.now() % 2 ** 31)
  .parse()
  .opts<{ readonly cycles: number; readonly seed: number }>();

const folder = await temporaryFolder();
console.log(`${flags.cycles} cycles, seed ${flags.seed}, in ${folder}`);
const tally = await tortureArchive({
  ...flags,
  folder,
  onCycle: ({ cycle, moment, victim, acknowledged, restored }) =>
    console.log(
      `${cycle + 1}/${flags.cycles}: killed: ${victim} (${moment}), ${acknowledged} acknowledged; restored: ${restored.join("; ")}`,
    ),
});
console.log(
  `${tally.acknowledged} writes acknowledged, ${tally.bases} backups, ${tally.restored} restored, all of them as they were`,
);
await rm(folder, { recursive: true, force: true });
