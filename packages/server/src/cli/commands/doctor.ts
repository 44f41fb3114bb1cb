/** `sheaf doctor`: looks a data folder over without a server, and saves what can be read of a damaged collection. */
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Finding, type FolderExamination, examineFolder, salvage } from "@sheaf/engine";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { ROOT_KEY_FILE, isRootKey } from "../../auth/root-key.ts";
import { readSettings, SETTINGS } from "../../config.ts";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command, OptionTexts } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { several } from "../several.ts";

const FOLDER = SETTINGS.dataFolder;
const HEALTHY = 0;
const FOUND_SOMETHING = 1;
const IN_USE = 3;
/** Read, write or run it: everyone but its owner. */
const OTHERS = 0o077;

export const doctor: Command = {
  name: "doctor",
  summary: "Check a data folder for damage and print what to do. The server must not be running.",
  options: [
    { flags: "--data <folder>", doc: `Data folder. [${FOLDER.env}, default ${FOLDER.default}]` },
    {
      flags: "--salvage <collection>",
      doc: "Save the readable records of a collection, given by id or name.",
    },
    { flags: "--to <file>", doc: "New file for --salvage, in JSON lines." },
    ...databaseOptions("a collection given by name"),
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    "The folder is not changed. The cache of a server with a database is not checked, and called one. Exit code 0: nothing, or notes only; 1: damage was found, or a warning (of a " +
    "healthy folder), or --salvage could not read a record; 3: a server uses the folder, and nothing was checked or saved.",
  run: (options) => (options["salvage"] === undefined ? examine(options) : save(options, options["salvage"])),
};

async function examine(options: OptionTexts): Promise<number> {
  const stray = ["to", "tenant", "database"].find((name) => options[name] !== undefined);
  if (stray !== undefined) throw new SettingError(`--${stray} needs --salvage with a collection`);
  const { dataFolder, diskReserve } = readSettings({ dataFolder: options["data"] });
  requireFolder(dataFolder);
  const examined = await examineFolder({ dataFolder, diskReserve });
  const findings = [...(await examineRootKey(dataFolder)), ...examined.findings];
  const isSound = findings.every(({ severity }) => severity !== "damage");
  // Of a folder in use, or a cache, the collections were not looked at: nobody can say that it is healthy, nor that it is not.
  const healthy = examined.usedBy === null && !examined.isCache ? isSound : null;
  if (options["json"] === undefined) print(dataFolder, { ...examined, findings });
  else console.log(JSON.stringify({ healthy, dataFolder, ...examined, findings }, null, 2));
  if (examined.usedBy !== null) return IN_USE;
  return findings.every(({ severity }) => severity === "note") ? HEALTHY : FOUND_SOMETHING;
}

async function save(options: OptionTexts, collection: string): Promise<number> {
  const { tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE, to } = options;
  if (to === undefined) throw new SettingError("--salvage needs --to with the name of a new file");
  const { dataFolder } = readSettings({ dataFolder: options["data"] });
  requireFolder(dataFolder);
  requireNewFile(to);
  const saved = salvage({ dataFolder, collection, tenant, database, to });
  if (saved.usedBy !== null) {
    if (options["json"] === undefined)
      console.log(`${dataFolder}: in use by ${saved.usedBy}; nothing was saved`);
    else console.log(JSON.stringify(saved, null, 2));
    return IN_USE;
  }
  if (options["json"] === undefined) {
    console.log(`${several(saved.records, "record")} of ${saved.id} saved to ${to}`);
    for (const problem of saved.problems) console.log(`not read: ${problem}`);
  } else console.log(JSON.stringify({ ...saved, to }, null, 2));
  return saved.problems.length === 0 ? HEALTHY : FOUND_SOMETHING;
}

function requireFolder(path: string): void {
  if (!existsSync(path)) throw new SettingError(`data folder ${path} does not exist`);
}

/** Where it comes to be only after this, nothing is overwritten either. */
function requireNewFile(path: string): void {
  if (existsSync(path)) throw new SettingError(`--to: ${path} exists already; name a file that does not`);
  const folder = dirname(path);
  if (!existsSync(folder)) throw new SettingError(`--to: the folder ${folder} does not exist`);
}

async function examineRootKey(dataFolder: string): Promise<readonly Finding[]> {
  const path = join(dataFolder, ROOT_KEY_FILE);
  const mode = await stat(path).then(
    (found) => found.mode,
    () => null,
  );
  if (mode === null) return [];
  const findings: Finding[] = [];
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null || !isRootKey(text.trim())) {
    findings.push({
      severity: "damage",
      subject: path,
      problem:
        text === null ? "the root key cannot be read" : "it holds no root key, so the server does not start",
      remedy: `restore ${path} from a backup, or remove it to have a new one made; other keys go on being valid`,
    });
  }
  if ((mode & OTHERS) !== 0) {
    findings.push({
      severity: "warning",
      subject: path,
      problem: "others than its owner may read the root key",
      remedy: `chmod 600 ${path}, and make a new one if somebody may have read it (remove the file, start again)`,
    });
  }
  return findings;
}

function print(dataFolder: string, examined: FolderExamination): void {
  const { findings, collections, records, usedBy, isCache } = examined;
  for (const { severity, subject, problem, remedy } of findings) {
    console.log(`${severity}: ${subject}: ${problem}\n  what to do: ${remedy}`);
  }
  if (usedBy !== null) {
    console.log(`${dataFolder}: in use by ${usedBy}; not checked`);
    return;
  }
  if (isCache) {
    console.log(`${dataFolder}: a cache; not checked`);
    return;
  }
  const counted = `${several(collections, "collection")} with ${several(records, "record")} that can be read`;
  console.log(`${dataFolder}: ${verdict(findings)}; ${counted}`);
}

function verdict(findings: readonly Finding[]): string {
  const found = new Set(findings.map(({ severity }) => severity));
  if (found.has("damage")) return "NOT healthy";
  return found.has("warning") ? "healthy, with warnings" : "healthy";
}
