/** `sheaf models verify`: reads the files of models and compares them with the hashes they came with. */
import type { ModelStore, VerifiedFile } from "@sheaf/inference";
import type { Command } from "../command.ts";
import { JSON_OPTION, MODELS_OPTION, openModelStore, printJson } from "./models.ts";

const ALL = "all";
const DAMAGED = 1;

interface VerifiedModel {
  readonly identifier: string;
  readonly ok: boolean;
  readonly files: readonly VerifiedFile[];
}

export const modelsVerify: Command = {
  name: "models verify",
  summary: "Check the files of a model, or of `all` downloaded models, against their published hashes.",
  operands: ["identifier"],
  options: [MODELS_OPTION, JSON_OPTION],
  async run(options, [identifier = ALL]) {
    const store = await openModelStore(options);
    const models: VerifiedModel[] = [];
    for (const name of identifier === ALL ? presentModels(store) : [identifier]) {
      const files = await store.verify(name);
      const ok = files.every(({ status }) => status === "ok" || status === "unknown");
      models.push({ identifier: name, ok, files });
    }
    if (options["json"] !== undefined) printJson(models);
    else for (const model of models) print(model);
    return models.every(({ ok }) => ok) ? 0 : DAMAGED;
  },
};

function presentModels(store: ModelStore): readonly string[] {
  return store.list().flatMap(({ identifier, path }) => (path === null ? [] : [identifier]));
}

function print({ identifier, ok, files }: VerifiedModel): void {
  const known = files.filter(({ status }) => status !== "unknown").length;
  const verdict = ok ? "ok" : `DAMAGED; fetch it anew: sheaf models rm ${identifier}, then pull`;
  console.log(`${identifier}: ${verdict} (${known} of ${files.length} files have a hash)`);
  for (const { file, status, expected, actual } of files) {
    if (status === "damaged") console.log(`  ${file}: has ${actual}, should have ${expected}`);
    if (status === "missing") console.log(`  ${file}: is missing`);
  }
}
