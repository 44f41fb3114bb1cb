/** Completion for zsh, with a sentence beside each word. */
import type { CompletionNode, CompletionValue } from "./completion-node.ts";

export function zshCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  return `#compdef sheaf
# Completion of sheaf for zsh: source <(sheaf completion zsh), or this file as _sheaf in a folder of fpath
_sheaf() {
  local command='' operand='' word previous=\${words[CURRENT - 1]}
  local -a commands options
  for word in "\${(@)words[2,CURRENT - 1]}"; do
    case "\${command:+$command }$word" in
      (${paths.join("|")}) command="\${command:+$command }$word" ;;
    esac
  done
  # --flag=value is one word here.
  if [[ $PREFIX == --*=* ]]; then
    previous=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$command $previous" in
${valueCases(nodes)}
  esac
  case "$command" in
${nodes.map(nodeCase).join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  else
    (( $#commands )) && _describe command commands
    [[ $operand == file ]] && _files
  fi
  return 0
}
if [[ \${funcstack[1]} == _sheaf ]]; then _sheaf "$@"; else compdef _sheaf sheaf; fi
`;
}

function valueCases(nodes: readonly CompletionNode[]): string {
  return nodes
    .flatMap(({ path, options }) =>
      options.flatMap(({ flag, value }) =>
        value === null ? [] : [`    ('${path} ${flag}') ${actionOf(value)}; return ;;`],
      ),
    )
    .join("\n");
}

function actionOf(value: CompletionValue): string {
  if (value === "text") return "_message text";
  if (value === "file") return "_files";
  return `compadd -- ${value.join(" ")}`;
}

function nodeCase({ path, commands, options, operand }: CompletionNode): string {
  const operands = operand === null || typeof operand === "string" ? [] : operand;
  const words = [
    ...commands.map(({ name, doc }) => described(name, doc)),
    ...(path === "" ? [described("help", "Show the help of a command.")] : []),
    ...operands.map((word) => described(word, "")),
  ];
  const flags = options.map(({ flag, doc }) => described(flag, doc));
  return [
    `    ('${path}')`,
    `      commands=(${words.join(" ")})`,
    `      options=(${flags.join(" ")})`,
    ...(operand === "file" ? ["      operand=file"] : []),
    "      ;;",
  ].join("\n");
}

/** As `_describe` reads it. */
function described(word: string, doc: string): string {
  const text = doc === "" ? word : `${word}:${doc.replaceAll("\\", "\\\\").replaceAll(":", "\\:")}`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
