/** What the commands `sheaf models …` share: their options, the store they work on, and how they print. */
import { ModelStore } from "@sheaf/inference";
import { readSettings, SETTINGS, type Setting } from "../../config.ts";
import { hubOptions, MODEL_SETTINGS } from "../../settings/model-settings.ts";
import { readModelsFile } from "../../models-file.ts";
import type { CommandOption, EnvironmentVariable, OptionTexts } from "../command.ts";
import { variableOf } from "../setting-options.ts";

export const JSON_OPTION: CommandOption = { flags: "--json", doc: "Print JSON." };

export const MODELS_OPTION: CommandOption = {
  flags: "--models <file>",
  doc: `${SETTINGS.modelsFile.doc} [${SETTINGS.modelsFile.env}]`,
};

/** The settings of the hub, which only the environment can give. */
export const HUB_ENVIRONMENT: readonly EnvironmentVariable[] = Object.values(MODEL_SETTINGS).flatMap(
  (setting: Setting) => variableOf(setting),
);

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
