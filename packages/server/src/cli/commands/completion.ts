/** `sheaf completion`: a script that has a shell complete the commands and options of this very version. */
import { SettingError } from "../../settings/setting-error.ts";
import type { Command } from "../command.ts";
import { bashCompletion } from "../completion/bash-completion.ts";
import { type CompletionNode, completionNodes } from "../completion/completion-node.ts";
import { fishCompletion } from "../completion/fish-completion.ts";
import { zshCompletion } from "../completion/zsh-completion.ts";

const SHELLS: Readonly<Record<string, (nodes: readonly CompletionNode[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** @param others All other commands. @param groups Words for what only groups commands. */
export function completion(others: readonly Command[], groups: Readonly<Record<string, string>>): Command {
  const own: Command = {
    name: "completion",
    summary: "Print a script that completes commands in a shell.",
    operands: ["bash|zsh|fish"],
    options: [],
    notes:
      "bash and zsh: source <(sheaf completion bash). fish: sheaf completion fish > " +
      "~/.config/fish/completions/sheaf.fish. Make it again after an upgrade.",
    run(_options, [shell = ""]) {
      const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (make === undefined)
        throw new SettingError(
          `completion is there for ${Object.keys(SHELLS).join(", ")}; not for "${shell}"`,
        );
      process.stdout.write(make(completionNodes([...others, own], groups)));
      return Promise.resolve(0);
    },
  };
  return own;
}
