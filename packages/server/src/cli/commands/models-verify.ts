/** `sheaf models verify`: reads the files of models and compares them with the hashes they came with. */
import type { ModelState, ModelStore, VerifiedFile } from "@sheaf/inference";
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
  summary: "Compare the files of a model, or of all that are here, with their hashes.",
  operands: ["[identifier]"],
  options: [MODELS_OPTION, JSON_OPTION],
  notes:
    "Files of the cache are named by their published hash; a bundled model and your own folders list hashes in the file " +
    "SHA256SUMS. Files without a hash cannot be checked and are named. Exit code 1: a file is damaged or missing.",
  async run(options, [identifier = ALL]) {
    const store = await openModelStore(options);
    const models: VerifiedModel[] = [];
    for (const name of identifier === ALL ? presentModels(store) : [identifier]) {
      const files = await store.verify(name);
      const ok = files.every(({ status }) => status === "ok" || status === "unknown");
      models.push({ identifier: name, ok, files });
    }
    if (options["json"] !== undefined) printJson(models);
    else for (const model of models) print(model, store.state(model.identifier).source);
    return models.every(({ ok }) => ok) ? 0 : DAMAGED;
  },
};

function presentModels(store: ModelStore): readonly string[] {
  return store.list().flatMap(({ identifier, path }) => (path === null ? [] : [identifier]));
}

function print({ identifier, ok, files }: VerifiedModel, source: ModelState["source"]): void {
  console.log(`${identifier}: ${ok ? describe(files) : remedy(identifier, source)}`);
  for (const { file, status, expected, actual } of files) {
    if (status === "damaged") console.log(`  ${file}: has ${actual}, should have ${expected}`);
    if (status === "missing") console.log(`  ${file}: is missing`);
  }
}

/** Of a model without damage. */
function describe(files: readonly VerifiedFile[]): string {
  if (files.length === 0) return "ok, it has no files";
  const matching = files.filter(({ status }) => status === "ok").length;
  if (matching === 0)
    return `not checked: nothing says what the hashes of its ${files.length} files should be`;
  const unknown = files.flatMap(({ file, status }) => (status === "unknown" ? [file] : []));
  const rest = unknown.length === 0 ? "" : `; without a hash, not checked: ${unknown.join(", ")}`;
  return `ok, ${matching} files match their hashes${rest}`;
}

function remedy(identifier: string, source: ModelState["source"]): string {
  if (source === "cache") return `DAMAGED; fetch it anew: sheaf models rm ${identifier}, then pull`;
  return source === "bundled" ? "DAMAGED; install Sheaf anew (npm ci)" : "DAMAGED; restore its folder";
}
