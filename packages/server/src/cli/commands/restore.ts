/** `sheaf backup verify` and `sheaf restore`: whether a backup is whole, and a data folder out of it. No server is asked. */
import { resolve } from "node:path";
import {
  type PlannedReplay,
  type ReplayTarget,
  type RestoreRequest,
  type VerifiedBackup,
  planReplay,
  restoreBackup,
  verifyBackup,
} from "@sheaf/engine";
import { readSettings, SETTINGS } from "../../config.ts";
import { byteCount } from "../byte-count.ts";
import { SettingError } from "../../settings/setting-error.ts";
import { withBackup } from "../backup-operand.ts";
import type { Command, OptionTexts } from "../command.ts";
import { WITHOUT_KEYS } from "./backup.ts";
import { progressLines } from "../progress-lines.ts";
import { several } from "../several.ts";

const FOLDER = SETTINGS.dataFolder;
/** As in every body. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/iu;
const DONE = 0;
const FAILED = 1;
/** Before a collection, and why. */
const MADE_AGAIN = "its index is not in it, and a restore makes it again";

export const backupVerify: Command = {
  name: "backup verify",
  summary: "Compare every file of a backup, and of those that it adds to, with its checksum.",
  operands: ["backup"],
  options: [
    { flags: "--archive <folder>", doc: "Read the archive that goes on from it, too." },
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    "A folder, or s3://bucket/prefix/NAME, which is fetched to the folder for temporary files first. Exit code 0: it can be restored, with --archive to the archive's end; 1: it is damaged, or a collection was damaged when it " +
    "was made.",
  async run(options, [backup = ""]) {
    const { archive } = options;
    const tell = progressLines();
    const verified = await withBackup(backup, async (folder, naming) => {
      const found = await verifyBackup(folder, ({ bytes, totalBytes }) =>
        tell(() => `${byteCount(bytes)} of ${byteCount(totalBytes)} read`),
      );
      return { ...found, problems: found.problems.map(naming) };
    });
    const replay = archive === undefined ? undefined : planReplay(resolve(archive), verified.header, null);
    const { voided: _voided, ...leads } = replay ?? { voided: [] };
    const more = replay === undefined ? {} : { archive: leads };
    if (options["json"] !== undefined) console.log(JSON.stringify({ ...verified, ...more }, null, 2));
    else {
      describe(backup, verified);
      if (replay !== undefined) {
        console.log(`${archive}: goes on to ${momentOf(replay)}`);
        for (const clock of replay.setBack)
          console.log(`${setBackAt(clock)}; for a moment between give the number of an entry`);
      }
    }
    return verified.problems.length + verified.missing.length === 0 ? DONE : FAILED;
  },
};

export const restore: Command = {
  name: "restore",
  summary: "Make a data folder out of a backup. Nothing is written before all checksums have been looked at.",
  operands: ["backup"],
  options: [
    {
      flags: "--data <folder>",
      doc: `Data folder to be made: it does not exist, or is empty. [${FOLDER.env}, default ${FOLDER.default}]`,
    },
    { flags: "--tenant <tenant>", doc: "Restore this tenant only." },
    {
      flags: "--skip-damaged",
      doc: "Leave out collections whose files in the backup are damaged; they are named, and answer 500 until they are deleted.",
    },
    { flags: "--archive <folder>", doc: "Follow this archive on from the backup." },
    {
      flags: "--until <moment>",
      doc: "With --archive: up to this entry (a number) or time (2030-01-31T12:00:00Z). [default its end]",
    },
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    "The backup is a folder, or s3://bucket/prefix/NAME, which is fetched to the folder for temporary files first. Collections keep their ids and indexes. API keys are restored unless the backup was made with --no-keys; the root key is made " +
    "anew at the first start. It can be interrupted and run again. Exit code 0: restored; 1: it failed, or a collection is missing, " +
    "because it was damaged when the backup was made, or since.",
  async run(options, [backup = ""]) {
    const { dataFolder } = readSettings({ dataFolder: options["data"] });
    const archive = archiveOption(options);
    const tell = progressLines();
    const { verified, collections, missing, withoutIndex, elsewhere, replay } = await withBackup(
      backup,
      async (folder, naming) => {
        const restored = await restoreBackup({
          archive,
          backup: folder,
          dataFolder: resolve(dataFolder),
          tenant: options["tenant"] ?? null,
          skipDamaged: options["skipDamaged"] !== undefined,
          onVerify: ({ bytes, totalBytes }) =>
            tell(() => `checking: ${byteCount(bytes)} of ${byteCount(totalBytes)}`),
          onRestore: (done) =>
            tell(() => `restoring: ${done.collections} of ${several(done.totalCollections, "collection")}`),
        });
        const [missing, elsewhere] = [restored.missing.map(naming), restored.elsewhere.map(naming)];
        return { ...restored, missing, elsewhere };
      },
    );
    const leads = { until: replay?.to, setBack: replay?.setBack };
    if (options["json"] !== undefined)
      console.log(
        JSON.stringify(
          { dataFolder, collections, missing, withoutIndex, elsewhere, ...leads, backup: verified.header },
          null,
          2,
        ),
      );
    else {
      // Without an archive it has some of what was written while the backup was made.
      const of = replay === null ? `of the backup ${madeAt(verified)}` : `as of ${momentOf(replay)}`;
      console.log(`${dataFolder}: restored ${several(collections, "collection")} ${of}`);
      // A time with a wrong zone would otherwise look like success.
      if (options["until"] !== undefined && replay?.to === replay?.end)
        console.log(
          replay?.problem == null
            ? "that is the archive's end: it has nothing later"
            : `the archive can be followed up to there only: ${replay.problem}`,
        );
      if (options["until"] !== undefined)
        for (const clock of replay?.setBack ?? [])
          console.log(
            `NOT restored: ${setBackAt(clock)}. By that clock ${options["until"]} is entry ${clock.wanted}: if you mean that, restore with --until ${clock.wanted}`,
          );
      for (const one of missing) console.log(`NOT restored: ${one}`);
      for (const one of withoutIndex) console.log(`${MADE_AGAIN}: ${one}`);
      for (const one of elsewhere) console.log(`damaged, and not needed for this: ${one}`);
      if (!verified.header.keys) console.log(WITHOUT_KEYS);
    }
    return missing.length === 0 ? DONE : FAILED;
  },
};

/** @throws SettingError for a moment that is none. */
function archiveOption({ archive, until }: OptionTexts): RestoreRequest["archive"] {
  if (archive === undefined) {
    if (until !== undefined) throw new SettingError("--until needs --archive");
    return undefined;
  }
  return { folder: resolve(archive), until: until === undefined ? null : parseMoment(until) };
}

function parseMoment(text: string): ReplayTarget {
  if (/^\d{1,15}$/u.test(text)) return { position: Number(text) };
  const time = Date.parse(text);
  if (!TIME.test(text) || Number.isNaN(time) || !isDay(text))
    throw new SettingError(
      `--until: ${text} is neither the number of an entry nor a time with its zone, such as 2030-01-31T12:00:00Z`,
    );
  if (time > Date.now())
    throw new SettingError(`--until: ${text} is still to come (it is ${new Date().toISOString()})`);
  return { time };
}

/** `Date.parse` takes February 30th for March 2nd. */
function isDay(text: string): boolean {
  const [year, month, day] = text.slice(0, 10).split("-").map(Number) as [number, number, number];
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function momentOf({ to, time }: PlannedReplay): string {
  return `entry ${to}${time === null ? "" : `, ${new Date(time).toISOString()}`}`;
}

function setBackAt({ from, to, time, first, last }: PlannedReplay["setBack"][number]): string {
  const [all, begin, end] = [time, first, last].map((ms) => new Date(ms).toISOString());
  return `entries ${from} to ${to} all have the time ${all}, for a clock was set back: it went from ${begin} to ${end} meanwhile`;
}

function describe(
  folder: string,
  { header, backups, files, bytes, problems, missing, withoutIndex, remedy }: VerifiedBackup,
): void {
  for (const problem of problems) console.log(`damaged: ${problem}`);
  if (remedy !== null) console.log(`  what to do: ${remedy}`);
  for (const one of missing) console.log(`not in it, because it was damaged: ${one}`);
  for (const one of withoutIndex) console.log(`${MADE_AGAIN}: ${one}`);
  const below = backups === 1 ? "" : ` (with the ${backups - 1} that it adds to)`;
  const made = `${madeAt({ header })}, ${several(header.collections, "collection")}`;
  const state = problems.length === 0 ? "can be restored" : "DAMAGED";
  console.log(`${folder}: ${state}; ${made}; ${several(files, "file")}, ${byteCount(bytes)} read${below}`);
  if (!header.keys) console.log(WITHOUT_KEYS);
}

/** It is one state from the end on. */
function madeAt({ header: { started, finished } }: Pick<VerifiedBackup, "header">): string {
  return `made ${new Date(started).toISOString()} to ${new Date(finished).toISOString()}`;
}
