/** Completion for fish, with a sentence beside each word. */
import type { CompletionNode, CompletionOption, CompletionValue } from "./completion-node.ts";

export function fishCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  return `# Completion of sheaf for fish: sheaf completion fish > ~/.config/fish/completions/sheaf.fish
function __sheaf_at --description 'Whether these are the words of the command so far'
    set -l command ''
    for word in (commandline -opc)[2..-1]
        switch (string trim "$command $word")
            case ${paths.join(" ")}
                set command (string trim "$command $word")
        end
    end
    test "$command" = "$argv[1]"
end
complete -c sheaf -f
${nodes.flatMap(nodeLines).join("\n")}
`;
}

function nodeLines({ path, commands, options, operand }: CompletionNode): readonly string[] {
  const here = `complete -c sheaf -n ${quoted(`__sheaf_at ${quoted(path)}`)}`;
  const words = [...commands, ...(path === "" ? [{ name: "help", doc: "Show the help of a command." }] : [])];
  return [
    ...words.map(({ name, doc }) => `${here} -a ${quoted(name)} -d ${quoted(doc)}`),
    ...options.map((option) => `${here} ${optionLine(option)}`),
    ...(operand === null || operand === "text" ? [] : [`${here} ${valueOf(operand)}`]),
  ];
}

function optionLine({ flag, doc, value }: CompletionOption): string {
  const name = `-l ${flag.slice(2)} -d ${quoted(doc)}`;
  return value === null ? name : `${name} -r ${valueOf(value)}`;
}

function valueOf(value: CompletionValue): string {
  if (value === "file") return "-F";
  return value === "text" ? "-f" : `-f -a ${quoted(value.join(" "))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
