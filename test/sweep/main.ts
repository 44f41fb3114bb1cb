/**
 * `npm run sweep -- [--step N] [--from N]`: changes each byte of the index files of a small collection, one at a time, and
 * compares all answers with those of an index made of the records; of every N-th byte with `--step`. Bytes that no answer
 * reads are changed all at once. The exit code is 1 where an answer was wrong or a changed byte was not found.
 */
import { parseArgs } from "node:util";
import {
  DamageSweep,
  flipped,
  isFoundByVerifying,
} from "../../packages/engine/src/collection/opening/testing/damage-sweep.ts";

const { values: flags } = parseArgs({
  options: { step: { type: "string", default: "1" }, from: { type: "string", default: "0" } },
});
const step = Number(flags.step);
const REPORTED = 2_000;

// Timers of a collection keep no process alive.
setInterval(() => {}, 1_000);
const sweep = await DamageSweep.make();
const read = await sweep.readBytes();
const failures: string[] = [];
const counts = { opened: 0, verified: 0 };
const startedAt = performance.now();

async function attempt(where: string, work: () => Promise<boolean>): Promise<void> {
  try {
    if (!(await work())) failures.push(`${where}: it was not found`);
  } catch (error) {
    failures.push(`${where}: ${String(error)}`);
  }
}

for (const file of sweep.files.keys()) {
  const bytes = sweep.files.get(file)!;
  for (const part of sweep.parts(file)) {
    const before = counts.opened;
    for (let at = part.from + (Number(flags.from) % step); at < part.to; at += step) {
      const where = `${file}, ${part.name}, byte ${at - part.from}`;
      counts.verified++;
      await attempt(where, () => isFoundByVerifying(file, flipped(bytes, at, 1 << ((at * 5) % 8))));
      if (read.get(file)![at] !== 1) continue;
      await attempt(where, async () => {
        // Rejects where the byte was read again and not found.
        await sweep.flip(file, at);
        return true;
      });
      if (++counts.opened % REPORTED === 0) console.error(`${counts.opened} openings`);
    }
    console.log(
      `${file} ${part.name}: ${part.to - part.from} bytes, opened with ${counts.opened - before} changed`,
    );
  }
}
const unread = new Map(
  [...read].map(([file, isRead]) => [
    file,
    sweep.files.get(file)!.map((byte, i) => (isRead[i] === 1 ? byte : byte ^ 0xff)),
  ]),
);
await attempt("all bytes that are not read", async () => {
  await sweep.outcomeOf(unread);
  return true;
});
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `${counts.verified} bytes changed and verified, ${counts.opened} of them answered with, in ${seconds.toFixed(0)} s`,
);
for (const failure of failures) console.log(`FAILED ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);
