/** `sheaf backup`: has a running server make a backup, or makes one of a data folder that no server uses. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BackupProgress, type BackupRequest, type MadeBackup, createHostedEngine } from "@sheaf/engine";
import { SheafError, backupName } from "@sheaf/protocol";
import { readSettings } from "../../config.ts";
import { bucketShelf } from "../../services/backups/backup-shelf.ts";
import { type BackupReply, backupReply, listShelf } from "../../services/backups/backup-status.ts";
import { archiveOf } from "../../settings/archive-of.ts";
import { SettingError } from "../../settings/setting-error.ts";
import { bucketAt, isBucket } from "../../settings/object-settings.ts";
import { inBucket } from "../backup-operand.ts";
import { byteCount } from "../byte-count.ts";
import type { Command, OptionTexts } from "../command.ts";
import { progressLines } from "../progress-lines.ts";
import { SERVER_OPTIONS, askServer } from "../server-request.ts";
import { several } from "../several.ts";

export const WITHOUT_KEYS =
  "no API keys are in the backup: after a restore all programs need new ones. Without --no-keys, a backup has them";
const BACKUPS = "/api/v2/backups";
/** Each is a request, and a line of the server's log: a long backup is asked about less and less often. */
const FIRST_POLL_MS = 200;
const LAST_POLL_MS = 2_000;
const DONE = 0;
const FAILED = 1;

export const backup: Command = {
  name: "backup",
  summary: "Make a backup of a running server, or with --data of a stopped one.",
  operands: ["target"],
  options: [
    { flags: "--incremental <base>", doc: "The backup to add to: only what has changed since is copied." },
    { flags: "--tenant <tenant>", doc: "Copy this tenant only." },
    { flags: "--keys", doc: "Copy API keys too, as digests. [default]" },
    { flags: "--no-keys", doc: "Copy no API keys: after a restore all programs need new ones." },
    {
      flags: "--data <folder>",
      doc: "Data folder of a stopped server; target and base are folders, or in a bucket, then.",
    },
    {
      flags: "--archive <folder>",
      doc: "With --data: the archive of that server, which goes on. [SHEAF_ARCHIVE]",
    },
    ...SERVER_OPTIONS,
  ],
  notes:
    "Target and base are names below the server's --backup-folder; with --data, folders, or s3://bucket/prefix/NAME. The server goes on serving. Exit code 0: everything was " +
    "copied; 1: it failed, or a damaged collection could not be copied. Ctrl-C ends this command, not the backup.",
  run: (options, [target = ""]) =>
    options["data"] === undefined ? ofServer(options, target) : ofFolder(options, options["data"], target),
};

export const backupList: Command = {
  name: "backup list",
  summary: "List the backups of a running server, or in a bucket, newest first.",
  operands: ["[bucket]"],
  options: SERVER_OPTIONS,
  notes: "With s3://bucket/prefix no server is asked.",
  async run(options, [bucket]) {
    const backups =
      bucket === undefined
        ? await askServer<readonly BackupReply[]>({ method: "GET", path: BACKUPS }, options)
        : await listBucket(bucket);
    if (options["json"] !== undefined) console.log(JSON.stringify(backups, null, 2));
    else if (backups.length === 0) console.log("no backups");
    else for (const one of backups) console.log(describe(one));
    return DONE;
  },
};

async function listBucket(url: string): Promise<readonly BackupReply[]> {
  const shelf = bucketShelf(bucketAt(url, readSettings({})));
  return (await listShelf(shelf)).map(backupReply);
}

async function ofServer(options: OptionTexts, name: string): Promise<number> {
  const { incremental, tenant } = options;
  if (isBucket(name))
    throw new SettingError(
      `${name}: a running server makes backups where its --backup-folder says; give a name there, or --data`,
    );
  const json = { name, incremental, tenant, keys: withKeys(options) };
  let made = await askServer<BackupReply>({ method: "POST", path: BACKUPS, json }, options);
  const tell = progressLines();
  for (let waitMs = FIRST_POLL_MS; made.state === "running"; waitMs = Math.min(1.5 * waitMs, LAST_POLL_MS)) {
    await sleep(waitMs);
    made = await askServer<BackupReply>(
      { method: "GET", path: `${BACKUPS}/${encodeURIComponent(name)}` },
      options,
    );
    const { collections, collections_total: totalCollections, bytes } = made;
    tell(() => progressLine(name, { collections, totalCollections, bytes }));
  }
  if (options["json"] !== undefined) console.log(JSON.stringify(made, null, 2));
  else if (made.error === null) console.log(summary(name, made, made.without_index));
  tellKeys(made);
  if (made.error !== null) throw new SheafError("internal", `backup ${name} failed: ${made.error}`);
  return made.damaged === 0 ? DONE : FAILED;
}

async function ofFolder(options: OptionTexts, data: string, target: string): Promise<number> {
  const settings = readSettings({ dataFolder: data, archive: options["archive"] });
  const { dataFolder, diskReserve } = settings;
  if (!existsSync(dataFolder)) throw new SettingError(`data folder ${dataFolder} does not exist`);
  const { incremental, tenant = null } = options;
  const keys = withKeys(options);
  const engine = await createHostedEngine({ dataFolder, diskReserve, ...archiveOf(settings) });
  try {
    const request = { ...placeOf(target, incremental), tenant, keys };
    const making: Promise<MadeBackup> = engine.makeBackup(request);
    const made = await telling(making, async () => {
      const progress = await engine.backupProgress();
      return progress === null ? null : progressLine(target, progress);
    });
    console.log(
      options["json"] === undefined
        ? summary(target, made, made.withoutIndex)
        : JSON.stringify(made, null, 2),
    );
    tellKeys({ keys });
    return made.damaged === 0 ? DONE : FAILED;
  } finally {
    await engine.close();
  }
}

/** @throws SettingError for a base that lies elsewhere than the target. */
function placeOf(
  target: string,
  base: string | undefined,
): Pick<BackupRequest, "target" | "base" | "bucket"> {
  const place = inBucket(target);
  if (place === null) return { target: resolve(target), base: base === undefined ? null : resolve(base) };
  const { bucket, name } = place;
  if (base === undefined) return { target: name, base: null, bucket };
  const above = target.slice(0, -name.length);
  if (!base.startsWith(above))
    throw new SettingError(`--incremental: must lie beside ${target}, as ${above}NAME`);
  return { target: name, base: backupName(base.slice(above.length), "--incremental"), bucket };
}

function withKeys({ keys }: OptionTexts): boolean {
  return keys !== "false";
}

function tellKeys({ keys }: { readonly keys: boolean }): void {
  if (!keys) console.error(WITHOUT_KEYS);
}

/** Meanwhile a line on stderr now and then. */
async function telling<T>(work: Promise<T>, line: () => Promise<string | null>): Promise<T> {
  const tell = progressLines();
  const over = work.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([over, sleep(LAST_POLL_MS, false, { ref: false })]))) {
    const text = await line();
    if (text !== null) tell(() => text);
  }
  return work;
}

function progressLine(
  name: string,
  { collections, totalCollections, bytes }: Omit<BackupProgress, "target">,
): string {
  const all = totalCollections === null ? "" : ` of ${totalCollections}`;
  return `${name}: ${collections}${all} collections, ${byteCount(bytes)} so far`;
}

function summary(
  name: string,
  { collections, bytes, damaged }: Pick<MadeBackup, "collections" | "bytes" | "damaged">,
  withoutIndex: number,
): string {
  const lost = damaged === 0 ? "" : `; NOT copied, because they are damaged: ${damaged}`;
  const remade = withoutIndex > 0 ? `; without their index, which cannot be read: ${withoutIndex}` : "";
  return `${name}: ${several(collections, "collection")}, ${byteCount(bytes)}${lost}${remade}`;
}

function describe({ name, state, tenant, incremental, keys, error, ...made }: BackupReply): string {
  const what = tenant === null ? "all tenants" : `tenant ${tenant}`;
  const base = incremental === null ? "whole" : `adds to ${incremental}`;
  return [
    name,
    state,
    // It is one state from its end on.
    `${made.started_at} to ${made.finished_at ?? "now"}`,
    what,
    base,
    keys ? "with API keys" : "WITHOUT API KEYS",
    several(made.collections, "collection"),
    byteCount(made.bytes),
    ...(error === null ? [] : [error]),
  ].join("  ");
}
