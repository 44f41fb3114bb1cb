/** How wide `--help` is, and what stands after the options of a command. */
import { Help } from "commander";
import type { Command } from "./command.ts";

const MOST_COLUMNS = 100;
/** Descriptions beside the longest flag keep this much; a terminal that has less room breaks the lines itself. */
const LEAST_COLUMNS = 30;
const EXIT_CODES =
  "Exit codes: 0, done; 1, it failed; 2, the command line, a setting or a file of settings cannot be used. Some commands " +
  "have further ones, which their help names.";

/** Lines longer than that are hard to read, however wide the terminal is. */
export function helpWidth(): { readonly helpWidth: number; readonly minWidthToWrap: number } {
  // Absent where the output is no terminal.
  const columns = process.stdout.columns as number | undefined;
  return { helpWidth: Math.min(columns ?? MOST_COLUMNS, MOST_COLUMNS), minWidthToWrap: LEAST_COLUMNS };
}

/** At the end of `sheaf --help`. */
export function closingWords(): string {
  return `\n${asHelp().boxWrap(EXIT_CODES, helpWidth().helpWidth)}`;
}

/** `null`: nothing stands after the options. */
export function commandNotes({ notes, environment = [] }: Command): string | null {
  const help = asHelp();
  const column = Math.max(...environment.map(({ name }) => name.length), 0);
  const items = environment.map(({ name, doc }) => help.formatItem(name, column, doc, help));
  const parts = [
    ...(items.length === 0 ? [] : [["Environment only:", ...items].join("\n")]),
    ...(notes === undefined ? [] : [help.boxWrap(notes, helpWidth().helpWidth)]),
  ];
  return parts.length === 0 ? null : `\n${parts.join("\n\n")}`;
}

function asHelp(): Help {
  return Object.assign(new Help(), helpWidth());
}
