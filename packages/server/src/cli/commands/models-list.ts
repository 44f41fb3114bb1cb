/** `sheaf models list`: every model Sheaf knows and whether it can be used here. */
import type { ModelState } from "@sheaf/inference";
import type { Command } from "../command.ts";
import { printColumns } from "../print-columns.ts";
import {
  HUB_ENVIRONMENT,
  JSON_OPTION,
  mebibytes,
  MODELS_OPTION,
  openModelStore,
  printJson,
} from "./models.ts";

export const modelsList: Command = {
  name: "models list",
  summary: "List models and whether their weights are available.",
  options: [MODELS_OPTION, JSON_OPTION],
  environment: HUB_ENVIRONMENT,
  async run(options) {
    const states = (await openModelStore(options)).list();
    if (options["json"] !== undefined) {
      printJson(states);
      return 0;
    }
    printColumns(states.map((state) => [state.identifier, state.kind, availability(state), detail(state)]));
    return 0;
  },
};

function availability({ source }: ModelState): string {
  if (source === null) return "absent";
  return source === "none" ? "built in" : source;
}

function detail({ missing, path, weightBytes, revision }: ModelState): string {
  if (missing !== null) return missing;
  return path === null || weightBytes === null
    ? ""
    : `${mebibytes(weightBytes)} of weights, ${revision}, ${path}`;
}
