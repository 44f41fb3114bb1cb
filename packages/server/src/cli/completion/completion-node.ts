/** What can stand at each place of a command line, from the commands themselves: what shells complete from. */
import type { Command } from "../command.ts";

/** What stands behind an option, or in place of an operand: a file, one of some words, or a text that nobody can guess. */
export type CompletionValue = "file" | "text" | readonly string[];

export interface CompletionOption {
  /** `--port`. */
  readonly flag: string;
  readonly doc: string;
  /** `null`: nothing stands behind it. */
  readonly value: CompletionValue | null;
}

export interface CompletionNode {
  /** Words of the command so far: empty, `keys` or `keys create`. */
  readonly path: string;
  /** Words that may follow. */
  readonly commands: readonly { readonly name: string; readonly doc: string }[];
  readonly options: readonly CompletionOption[];
  /** Of its first operand; `null`: it takes none. */
  readonly operand: CompletionValue | null;
}

const HELP: CompletionOption = { flag: "--help", doc: "Show this help.", value: null };
const VERSION: CompletionOption = { flag: "--version", doc: "Print the version.", value: null };
const PATH = /file|folder|backup|path/u;
const OPERAND = /^(\S+)(?: [<[](.+)[>\]])?$/u;

/** @param groups Words for what only groups commands. One node for each word or pair of words, the root first. */
export function completionNodes(
  commands: readonly Command[],
  groups: Readonly<Record<string, string>>,
): readonly CompletionNode[] {
  const paths = new Set(["", ...commands.flatMap(({ name }) => [name.split(" ")[0] ?? "", name])]);
  const docOf = (path: string): string =>
    firstSentence(commands.find(({ name }) => name === path)?.summary ?? groups[path] ?? "");
  return [...paths].map((path) => {
    const command = commands.find(({ name }) => name === path);
    const [operand] = command?.operands ?? [];
    return {
      path,
      commands: [...paths]
        .filter((each) => each !== "" && each.split(" ").slice(0, -1).join(" ") === path)
        .map((each) => ({ name: each.split(" ").at(-1) ?? "", doc: docOf(each) })),
      options: [
        ...(command?.options ?? []).map(({ flags, doc }) => optionOf(flags, doc)),
        ...(path === "" ? [HELP, VERSION] : [HELP]),
      ],
      operand: operand === undefined ? null : valueOf(operand.replace(/^\[(.*)\]$/u, "$1")),
    };
  });
}

function optionOf(flags: string, doc: string): CompletionOption {
  const [, flag = flags, operand] = OPERAND.exec(flags) ?? [];
  return { flag, doc: firstSentence(doc), value: operand === undefined ? null : valueOf(operand) };
}

function valueOf(operand: string): CompletionValue {
  if (operand.includes("|")) {
    const words = operand.split("|");
    // `bytes|share` names two kinds of texts, `on|off` two words.
    return words.every((word) => /^(?:on|off|bash|zsh|fish)$/u.test(word)) ? words : "text";
  }
  return PATH.test(operand) ? "file" : "text";
}

/** Without what stands behind it: names of variables and defaults. */
function firstSentence(doc: string): string {
  return doc.split(/(?<=\.) |: | \[/u)[0] ?? doc;
}
