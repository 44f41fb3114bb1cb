/** Completion for bash, from 3.2 on: words are complete commands, options of the command that is there, and values. */
import type { CompletionNode, CompletionValue } from "./completion-node.ts";

export function bashCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  return `# Completion of sheaf for bash: source <(sheaf completion bash)
_sheaf() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command='' words='' operand='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${command:+$command }\${COMP_WORDS[i]}" in
      ${paths.join(" | ")}) command="\${command:+$command }\${COMP_WORDS[i]}" ;;
    esac
  done
  # bash takes = for a word of its own.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$command $previous" in
${valueCases(nodes)}
  esac
  case "$command" in
${nodes.map(nodeCase).join("\n")}
  esac
  if [[ $operand == file && $current != -* && -z \${COMPREPLY-} ]]; then
    _sheaf_files
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
_sheaf_files() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$current"))
  compopt -o filenames 2>/dev/null
}
complete -F _sheaf sheaf
`;
}

/** Behind an option that takes something, nothing else is offered. */
function valueCases(nodes: readonly CompletionNode[]): string {
  return nodes
    .flatMap(({ path, options }) =>
      options.flatMap(({ flag, value }) =>
        value === null ? [] : [`    '${path} ${flag}') ${actionOf(value)} ;;`],
      ),
    )
    .join("\n");
}

function actionOf(value: CompletionValue): string {
  if (value === "text") return "COMPREPLY=(); return";
  if (value === "file") return "_sheaf_files; return";
  return `COMPREPLY=($(compgen -W '${value.join(" ")}' -- "$current")); return`;
}

function nodeCase({ path, commands, options, operand }: CompletionNode): string {
  const operands = operand === null || typeof operand === "string" ? [] : operand;
  const words = [
    ...commands.map(({ name }) => name),
    ...(path === "" ? ["help"] : []),
    ...operands,
    ...options.map(({ flag }) => flag),
  ];
  return `    '${path}') words='${words.join(" ")}'${operand === "file" ? " operand=file" : ""} ;;`;
}
