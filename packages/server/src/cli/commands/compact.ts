/** `sheaf compact`: gives the space of deleted records in a data folder back to the file system, without a server. */
import { existsSync } from "node:fs";
import { type CompactedStore, compactFolder } from "@sheaf/engine";
import { readSettings, SETTINGS } from "../../config.ts";
import { SettingError } from "../../settings/setting-error.ts";
import { byteCount } from "../byte-count.ts";
import type { Command, OptionTexts } from "../command.ts";

const FOLDER = SETTINGS.dataFolder;
const DONE = 0;
const LEFT_SOMETHING = 1;
const IN_USE = 3;

export const compact: Command = {
  name: "compact",
  summary: "Give the space of deleted records back. The server must not be running.",
  options: [
    { flags: "--data <folder>", doc: `Data folder. [${FOLDER.env}, default ${FOLDER.default}]` },
    { flags: "--json", doc: "Print the result as JSON." },
  ],
  notes:
    "Each store is copied without its free pages, one after the other, and the copy takes its place; the largest one needs " +
    "room for its copy. It can be interrupted at any moment. Exit code 0: done; 1: a store was left as it is, because it is " +
    "damaged or there is no room; 3: a server uses the folder, and nothing was done.",
  run,
};

async function run(options: OptionTexts): Promise<number> {
  const { dataFolder } = readSettings({ dataFolder: options["data"] });
  if (!existsSync(dataFolder)) throw new SettingError(`data folder ${dataFolder} does not exist`);
  const isJson = options["json"] !== undefined;
  let done = 0;
  const tell = (store: CompactedStore, total: number): void =>
    console.log(`${++done} of ${total}: ${describe(store)}`);
  const { stores, withoutStore, usedBy } = await compactFolder({
    dataFolder,
    ...(isJson ? {} : { onStore: tell }),
  });
  const before = stores.reduce((sum, store) => sum + store.before, 0);
  const after = stores.reduce((sum, store) => sum + store.after, 0);
  if (isJson)
    console.log(JSON.stringify({ dataFolder, usedBy, before, after, stores, withoutStore }, null, 2));
  else if (usedBy !== null) console.log(`${dataFolder}: in use by ${usedBy}; nothing was done`);
  else
    console.log(
      `${dataFolder}: ${byteCount(before)} before, ${byteCount(after)} now${without(withoutStore)}`,
    );
  if (usedBy !== null) return IN_USE;
  return stores.every(({ problem }) => problem === null) ? DONE : LEFT_SOMETHING;
}

function describe({ subject, before, after, problem }: CompactedStore): string {
  if (problem !== null) return `${subject}: left as it is: ${problem}`;
  return `${subject}: ${byteCount(before)} before, ${byteCount(after)} now`;
}

/** So that the number of stores can be compared with that of collections. */
function without(count: number): string {
  return count === 0 ? "" : `; collections without a store (never written to): ${count}`;
}
