/** What the settings say to the embedder. */
import { join } from "node:path";
import type { EmbedderOptions } from "@sheaf/inference";
import type { Settings } from "./config.ts";
import { hubOptions } from "./settings/model-settings.ts";
import { type ModelFolders, readModelsFile, requireModelFolders } from "./models-file.ts";

/** Throws a `SettingError` where the models file cannot be used. */
export async function embedderOptions(settings: Settings): Promise<EmbedderOptions> {
  const { modelsFile, modelMemory, pinnedModels, autoPull, dataFolder } = settings;
  return {
    models: await readFolders(modelsFile),
    hub: hubOptions(settings),
    autoPull: autoPull && !settings.hfOffline,
    pinned: pinnedModels,
    ...(modelMemory === null ? {} : { memoryBytes: modelMemory }),
    // The one folder that a server can surely write. Weights are linked into it, not copied, where that is possible.
    workFolder: join(dataFolder, "models"),
  };
}

async function readFolders(modelsFile: string | null): Promise<ModelFolders> {
  if (modelsFile === null) return {};
  const models = await readModelsFile(modelsFile);
  requireModelFolders(modelsFile, models);
  return models;
}
