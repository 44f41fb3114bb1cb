/** The settings table as command line options. */
import { type FlagTexts, SETTINGS, type Setting, type Settings } from "../config.ts";
import { SETTING_GROUPS } from "../settings/setting-groups.ts";
import type { CommandOption, EnvironmentVariable } from "./command.ts";

const ENTRIES = Object.entries(SETTINGS) as readonly (readonly [keyof Settings, Setting])[];

export function settingOptions(): readonly CommandOption[] {
  return SETTING_GROUPS.flatMap(({ title, settings }) =>
    settings.flatMap(([, setting]) => optionOf(setting, `${title}:`)),
  );
}

function optionOf({ flag, doc, env, default: initial }: Setting, group: string): readonly CommandOption[] {
  if (flag === null) return [];
  const origin = initial === null || initial === "" ? env : `${env}, default ${initial}`;
  // A switch alone is on.
  const operand = flag.operand === "on|off" ? `[${flag.operand}]` : `<${flag.operand}>`;
  return [{ flags: `--${flag.name} ${operand}`, doc: `${doc} [${origin}]`, group }];
}

/** The settings that only the environment can give. */
export function environmentVariables(): readonly EnvironmentVariable[] {
  return ENTRIES.flatMap(([, setting]) => variableOf(setting));
}

/** None for a setting that has a flag. */
export function variableOf({ flag, env, doc, default: initial }: Setting): readonly EnvironmentVariable[] {
  if (flag !== null) return [];
  return [{ name: env, doc: initial === null || initial === "" ? doc : `${doc} [default ${initial}]` }];
}

/** Option values under their camel-case flag names -> texts by setting name. */
export function flagTexts(options: Readonly<Record<string, string | undefined>>): FlagTexts {
  return Object.fromEntries(
    ENTRIES.flatMap(([name, { flag }]) => {
      const text = flag === null ? undefined : options[camelCase(flag.name)];
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
