import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { SETTINGS } from "../config.ts";
import { SETTING_GROUPS } from "../settings/setting-groups.ts";
import { environmentVariables, flagTexts, settingOptions } from "./setting-options.ts";

describe("the settings table on the command line", () => {
  it("has an option for every setting with a flag, and a note for every other", () => {
    const options = settingOptions();
    for (const { flag, env, doc } of Object.values(SETTINGS)) {
      const shown =
        flag === null
          ? environmentVariables().find(({ name }) => name === env)
          : options.find(({ flags }) => flags.startsWith(`--${flag.name} `));
      expect(`${env} ${shown?.doc}`).toContain(doc);
      if (flag !== null) expect(shown?.doc).toContain(env);
    }
  });

  it("has every setting in one group, those of one table in that of their own", () => {
    const names = SETTING_GROUPS.flatMap(({ settings }) => settings.map(([name]) => name));
    expect(names.toSorted()).toEqual(Object.keys(SETTINGS).toSorted());
    const groupOf = (flag: string): unknown =>
      settingOptions().find(({ flags }) => flags.startsWith(`--${flag} `))?.group;
    expect(["port", "max-connections", "model-memory", "body-bytes", "reply-bytes"].map(groupOf)).toEqual([
      "Server:",
      "Connections:",
      "Models:",
      "Requests:",
      "Replies:",
    ]);
  });

  it("reads every flag back under the name of its setting", () => {
    const program = new Command();
    for (const { flags, doc } of settingOptions()) program.option(flags, doc);
    const flagged = Object.entries(SETTINGS).filter(([, { flag }]) => flag !== null);
    const args = flagged.flatMap(([name, { flag }]) => [`--${flag?.name}`, `text of ${name}`]);
    program.parse(args, { from: "user" });
    expect(flagTexts(program.opts())).toEqual(
      Object.fromEntries(flagged.map(([name]) => [name, `text of ${name}`])),
    );
    expect(flagTexts({})).toEqual({});
  });
});
