/** The settings of models: where weights come from, and how much memory they may take. Part of the table in `config.ts`. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { HubOptions } from "@sheaf/inference";
import { describeUnknownModel, kindOfModel } from "@sheaf/protocol";
import type { Setting } from "../config.ts";
import { parseGibibytes } from "./parse-gibibytes.ts";
import { parseList } from "./parse-list.ts";
import { parseSwitch } from "./parse-switch.ts";
import { readSecretFile } from "./secret-file.ts";
import { SettingError } from "./setting-error.ts";

export interface ModelSettings {
  /** JSON file of local model folders; `null`: none. */
  readonly modelsFile: string | null;
  /** JSON file of tasks beside the built-in one; `null`: none. */
  readonly tasksFile: string | null;
  /** Memory for all loaded models, in bytes; `null`: a share of the machine's. */
  readonly modelMemory: number | null;
  readonly pinnedModels: readonly string[];
  readonly autoPull: boolean;
  /** Folder of the Hugging Face tools; their cache is `hub` in it. */
  readonly hfHome: string;
  readonly hfEndpoint: string;
  readonly hfToken: string | null;
  /** The token that the file holds. */
  readonly hfTokenFile: string | null;
  readonly hfOffline: boolean;
}

export const MODEL_SETTINGS: { readonly [name in keyof ModelSettings]: Setting<ModelSettings[name]> } = {
  modelsFile: {
    env: "SHEAF_MODELS",
    flag: { name: "models", operand: "file" },
    default: null,
    doc: 'JSON file that names local model folders: {"<model identifier>": {"path": "<folder>"}}.',
    parse: (text) => text,
  },
  tasksFile: {
    env: "SHEAF_TASKS",
    flag: { name: "tasks", operand: "file" },
    default: null,
    doc: 'JSON file with tasks for models that take instructions: {"<task>": {"documents": "<sentence>", "query": "<sentence>"}}.',
    parse: (text) => text,
  },
  modelMemory: {
    env: "SHEAF_MODEL_MEMORY",
    flag: { name: "model-memory", operand: "GiB" },
    default: null,
    doc: "Memory for all loaded models. The default is 60 % of the memory of the machine or container.",
    parse: parseGibibytes,
  },
  pinnedModels: {
    env: "SHEAF_PIN_MODELS",
    flag: { name: "pin-models", operand: "identifiers" },
    default: "",
    doc: "Models, separated by commas, that are never unloaded.",
    isList: true,
    parse: parseModels,
  },
  autoPull: {
    env: "SHEAF_AUTO_PULL",
    flag: { name: "auto-pull", operand: "on|off" },
    default: "off",
    doc: "Whether the first request for a missing model downloads its weights. Requests get 503 until the download is complete.",
    parse: parseSwitch,
  },
  hfHome: {
    env: "HF_HOME",
    flag: null,
    default: "~/.cache/huggingface",
    doc: "Hugging Face home folder; downloaded models go to its cache.",
    parse: (text) => (text.startsWith("~/") ? join(homedir(), text.slice(2)) : text),
  },
  hfEndpoint: {
    env: "HF_ENDPOINT",
    flag: null,
    default: "https://huggingface.co",
    doc: "Address of the Hugging Face hub or a mirror.",
    parse: parseEndpoint,
  },
  hfToken: {
    env: "HF_TOKEN",
    flag: null,
    default: null,
    doc: "Token for the hub. It is sent to no other host.",
    parse: parseToken,
  },
  hfTokenFile: {
    env: "HF_TOKEN_PATH",
    flag: { name: "hf-token-file", operand: "file" },
    default: null,
    doc: "File with the token for the hub.",
    parse: (text) => parseToken(readSecretFile(text)),
  },
  hfOffline: {
    env: "HF_HUB_OFFLINE",
    flag: null,
    default: "off",
    doc: "Never connect to the hub.",
    parse: parseSwitch,
  },
};

/** Where weights are looked for and fetched. */
export function hubOptions(settings: ModelSettings): HubOptions {
  const { hfHome, hfEndpoint, hfToken, hfOffline } = settings;
  return { cacheFolder: join(hfHome, "hub"), endpoint: hfEndpoint, token: hfToken, offline: hfOffline };
}

function parseModels(text: string): readonly string[] {
  const identifiers = parseList(text);
  const unknown = identifiers.find((identifier) => kindOfModel(identifier) === null);
  if (unknown !== undefined) throw new SettingError(describeUnknownModel(unknown));
  return identifiers;
}

function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new SettingError("must be an address such as https://huggingface.co");
  }
  return text.replace(/\/+$/u, "");
}

function parseToken(text: string): string {
  // The text itself stays out of the message: it is a secret.
  if (!/^[\x21-\x7e]+$/u.test(text)) throw new SettingError("must be printable ASCII without spaces");
  return text;
}
