/** What the commands `sheaf models …` share: their options, the store they work on, and how they print. */
import { ModelStore } from "@sheaf/inference";
import { readSettings, SETTINGS } from "../../config.ts";
import { hubOptions, MODEL_SETTINGS } from "../../model-settings.ts";
import { readModelsFile } from "../../models-file.ts";
import type { CommandOption, OptionTexts } from "../command.ts";

/** Characters of the longest variable, and two spaces. */
const HUB_COLUMN = "HF_HUB_OFFLINE".length + 2;

export const JSON_OPTION: CommandOption = { flags: "--json", doc: "Print JSON." };

export const MODELS_OPTION: CommandOption = {
  flags: "--models <file>",
  doc: `${SETTINGS.modelsFile.doc} [${SETTINGS.modelsFile.env}]`,
};

/** Lines after the options: the settings of the hub that only the environment can give. */
export const HUB_NOTES = [
  "Environment:",
  ...Object.values(MODEL_SETTINGS).flatMap(({ flag, env, doc, default: initial }) => {
    if (flag !== null) return [];
    return [`  ${env.padEnd(HUB_COLUMN)}${doc}${initial === null ? "" : ` [default ${initial}]`}`];
  }),
].join("\n");

export async function openModelStore(options: OptionTexts): Promise<ModelStore> {
  const settings = readSettings({ modelsFile: options["models"] });
  const models = settings.modelsFile === null ? {} : await readModelsFile(settings.modelsFile);
  return new ModelStore({ hub: hubOptions(settings), models });
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2));
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
