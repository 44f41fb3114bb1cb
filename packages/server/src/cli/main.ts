/**
 * The `sheaf` command line. Exit codes: 0, done; 1, it failed; 2, what was given cannot be used: the command line, a
 * setting, a file of settings. A command may have further ones.
 */
import { CommanderError, Option, type OutputConfiguration, Command as Program } from "commander";
import { SheafError } from "@sheaf/protocol";
import { SettingError } from "../settings/setting-error.ts";
import { VERSION } from "../version.ts";
import type { Command, OptionTexts } from "./command.ts";
import { closingWords, commandNotes, helpWidth } from "./help-text.ts";
import { backup, backupList } from "./commands/backup.ts";
import {
  collectionsAcceptModel,
  collectionsCreate,
  collectionsDelete,
  collectionsList,
} from "./commands/collections.ts";
import { backupRemove } from "./commands/backup-remove.ts";
import { compact } from "./commands/compact.ts";
import { completion } from "./commands/completion.ts";
import { exportRecords } from "./commands/export.ts";
import { health } from "./commands/health.ts";
import { importRecords } from "./commands/import.ts";
import { importFromChroma } from "./commands/import-chroma.ts";
import { importFromQdrant } from "./commands/import-qdrant.ts";
import { doctor } from "./commands/doctor.ts";
import { keysCreate, keysList, keysRevoke, keysRotate } from "./commands/keys.ts";
import { modelsList } from "./commands/models-list.ts";
import { modelsPull } from "./commands/models-pull.ts";
import { modelsRm } from "./commands/models-rm.ts";
import { modelsVerify } from "./commands/models-verify.ts";
import { nodes } from "./commands/nodes.ts";
import { backupVerify, restore } from "./commands/restore.ts";
import {
  databasesCreate,
  databasesList,
  tenantsCreate,
  tenantsDelete,
  tenantsList,
} from "./commands/tenants.ts";
import { serve } from "./commands/serve.ts";

const OTHERS: readonly Command[] = [
  serve,
  health,
  doctor,
  compact,
  backup,
  backupList,
  backupVerify,
  backupRemove,
  restore,
  exportRecords,
  importRecords,
  importFromChroma,
  importFromQdrant,
  tenantsCreate,
  tenantsList,
  tenantsDelete,
  databasesCreate,
  databasesList,
  collectionsList,
  collectionsCreate,
  collectionsAcceptModel,
  collectionsDelete,
  keysCreate,
  keysList,
  keysRevoke,
  keysRotate,
  modelsList,
  modelsPull,
  modelsVerify,
  modelsRm,
  nodes,
];
/** Words for the groups of commands in `--help`. */
const GROUPS: Readonly<Record<string, string>> = {
  collections: "List, create and delete collections, and accept new model weights.",
  databases: "Create and list databases of a tenant.",
  keys: "Create, list, rotate and revoke API keys.",
  tenants: "Create, list and delete tenants.",
  models: "List, download, check and remove model weights.",
};
const COMMANDS: readonly Command[] = [...OTHERS, completion(OTHERS, GROUPS)];
const HELP_OPTION = ["-h, --help", "Show this help."] as const;
const FAILURE = 1;
const WRONG_USAGE = 2;

/** Runs one command line (without node and script) and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = new Program("sheaf")
    .description("Self-hosted embedding and hybrid-search server.")
    .version(VERSION, "-V, --version", "Print the version.")
    .helpOption(...HELP_OPTION)
    .helpCommand(false)
    // Behind the name of a command, options are that command's: `import` and `import chroma` have some of the same name.
    .enablePositionalOptions()
    .configureOutput(oneLine("sheaf"))
    .configureHelp(helpWidth())
    .addHelpText("after", closingWords())
    .exitOverride();
  for (const command of COMMANDS) {
    const sub = addCommand(program, command);
    sub.action(async (...given: readonly unknown[]) => {
      // After the operands, those that were left out too, the options.
      exitCode = await command.run(optionTexts(given[command.operands?.length ?? 0]), sub.args);
    });
  }
  try {
    const words = args[0] === "help" ? [...args.slice(1), "--help"] : args;
    const unknown = words.some(isHelp) ? unknownCommand(program, words) : null;
    if (unknown !== null) throw new SettingError(`unknown command ${unknown}; see \`sheaf --help\``);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    return explain(error);
  }
  return exitCode;
}

/** Under its group, which is made with its first command. */
function addCommand(program: Program, command: Command): Program {
  const words = command.name.split(" ");
  const name = words.pop() ?? "";
  let parent = program;
  for (const word of words) {
    parent =
      parent.commands.find((known) => known.name() === word) ??
      parent
        .command(word)
        .description(GROUPS[word] ?? "")
        .helpOption(...HELP_OPTION)
        .helpCommand(false)
        .configureOutput(oneLine(`sheaf ${word}`))
        .exitOverride();
  }
  const sub = parent
    .command(name)
    .description(command.summary)
    .helpOption(...HELP_OPTION)
    .helpCommand(false)
    .exitOverride();
  sub.configureOutput(oneLine(`sheaf ${command.name}`));
  for (const { flags, doc, group = "Options:" } of command.options) {
    sub.addOption(new Option(flags, doc).helpGroup(group));
  }
  for (const operand of command.operands ?? []) {
    sub.argument(operand.startsWith("[") ? operand : `<${operand}>`);
  }
  const notes = commandNotes(command);
  if (notes !== null) sub.addHelpText("after", notes);
  return sub;
}

/** What is wrong with the command line, where Commander would take up to three lines. */
function oneLine(command: string): OutputConfiguration {
  return {
    outputError: (text, write) => {
      const words = text
        .trim()
        .replace(/^error: |\.$/gu, "")
        .replaceAll("\n", " ");
      write(`sheaf: ${words}; see \`${command} --help\`\n`);
    },
  };
}

const isHelp = (word: string): boolean => word === "--help" || word === "-h";

/** Commander answers an unknown command beside `--help` with the general help. `null`: there is none. */
function unknownCommand(program: Program, words: readonly string[]): string | null {
  let parent = program;
  for (const [i, word] of words.entries()) {
    if (parent.commands.length === 0 || word.startsWith("-")) return null;
    const next = parent.commands.find((known) => known.name() === word);
    if (next === undefined && parent.registeredArguments.length > 0) return null;
    if (next === undefined) return words.slice(0, i + 1).join(" ");
    parent = next;
  }
  return null;
}

/** A flag without an operand is given as `true`. */
function optionTexts(options: unknown): OptionTexts {
  return Object.fromEntries(
    Object.entries(options as object).map(([name, value]) => [
      name,
      value === undefined ? value : String(value),
    ]),
  );
}

function explain(error: unknown): number {
  // Commander has already written its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (isWrongUsage(error)) {
    console.error(`sheaf: ${error.message}`);
    return WRONG_USAGE;
  }
  // What the operator can do something about has a message; a fault of ours needs its stack.
  const expected = error instanceof SheafError || (error instanceof Error && "code" in error);
  console.error(expected ? `sheaf: ${error.message}` : error);
  return FAILURE;
}

/** The same command cannot succeed, whatever the state of the machine: an unknown model, say. */
function isWrongUsage(error: unknown): error is Error {
  return error instanceof SettingError || (error instanceof SheafError && error.code === "invalid_argument");
}
