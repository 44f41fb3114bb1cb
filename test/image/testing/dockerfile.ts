/** As much of the language of Dockerfiles as ours uses; anything else is an error, so that nothing is passed over. */

export interface Instruction {
  readonly name: string;
  /** `--from=build` as `{ from: "build" }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** What stands behind the flags. */
  readonly rest: string;
}

export interface Stage {
  readonly base: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

const KNOWN = new Set([
  ...["FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"],
  ...["HEALTHCHECK", "ENTRYPOINT", "CMD", "LABEL"],
]);

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { base: string; name: string | null; instructions: Instruction[] }[] = [];
  for (const instruction of instructionsOf(text)) {
    if (instruction.name !== "FROM") {
      stages.at(-1)?.instructions.push(instruction);
      continue;
    }
    const [base = "", , name = null] = instruction.rest.split(/\s+/u);
    stages.push({ base, name, instructions: [] });
  }
  return stages;
}

function instructionsOf(text: string): readonly Instruction[] {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*(?:#|$)/u.test(line))
    .join("\n")
    .replaceAll(/\\\n\s*/gu, "")
    .split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const [, name = "", given = "", rest = ""] = /^(\w+)\s+((?:--\S+\s+)*)(.*)$/u.exec(line) ?? [];
      if (!KNOWN.has(name)) throw new Error(`not understood: ${line}`);
      const flags = [...given.matchAll(/--([\w-]+)=(\S+)/gu)].map(([, key, value]) => [key, value]);
      return { name, flags: Object.fromEntries(flags) as Record<string, string>, rest };
    });
}

/** `["serve"]`, the form without a shell. */
export function execForm(text: string): readonly string[] {
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
    throw new Error(`no list of words: ${text}`);
  return words;
}

/** `A=1 B="two words"` -> pairs. */
export function pairs(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/([\w.-]+)=(?:"([^"]*)"|(\S+))/gu)].map(
    ([, key = "", quoted, bare]) => [key, quoted ?? bare ?? ""] as const,
  );
}

/** What `.dockerignore` keeps out of the context: names and `**` + `/name`, `*` within a name. */
export function ignores(text: string): (path: string) => boolean {
  const patterns = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const parts = patterns.map((pattern) => {
    if (/[!?[\]\\]|\*\*(?!\/)/u.test(pattern)) throw new Error(`not understood: ${pattern}`);
    const [, deep, name = ""] = /^(\*\*\/)?(.*)$/u.exec(pattern) ?? [];
    const body = name.replaceAll(".", "\\.").replaceAll("*", "[^/]*");
    return `${deep === undefined ? "" : "(?:.*/)?"}${body}`;
  });
  const all = new RegExp(`^(?:${parts.join("|")})(?:/|$)`, "u");
  return (path) => all.test(path);
}
