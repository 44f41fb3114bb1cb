/**
 * The models of this machine: which are here, from where, and how to get, check and remove them. What the commands
 * `sheaf models` do.
 */
import { existsSync } from "node:fs";
import { type ModelKind, SheafError } from "@sheaf/protocol";
import { RepositoryCache } from "../hub/hub-cache.ts";
import { HubClient } from "../hub/hub-client.ts";
import { type PulledModel, pullModel, type PullProgress } from "../hub/pull-model.ts";
import { type RemovedSnapshot, removeSnapshot } from "../hub/remove-snapshot.ts";
import { type Wait, waitForReal } from "../hub/retrying.ts";
import { type VerifiedFile, verifyFiles } from "../hub/verify-files.ts";
import { type ConfiguredModel, findModelFolder, type ModelSource, modelUnavailable } from "./model-folder.ts";
import { MODEL_REGISTRY, modelEntry, type ModelEntry } from "./model-registry.ts";

export interface HubOptions {
  /** Cache of the Hugging Face tools: `$HF_HOME/hub`. */
  readonly cacheFolder: string;
  /** Base address. Default `https://huggingface.co`. */
  readonly endpoint?: string;
  /** Sent to the endpoint and to no other host. */
  readonly token?: string | null;
  /** Never connect. */
  readonly offline?: boolean;
  /** Waits between tries. Default: real time. */
  readonly wait?: Wait;
  /** A connection that brings nothing for this long counts as cut. Default 60 s. */
  readonly stallMs?: number;
}

export interface ModelStoreOptions {
  readonly hub: HubOptions;
  /** Identifier -> the operator's own folder. */
  readonly models?: Readonly<Record<string, ConfiguredModel>>;
}

export interface ModelState {
  readonly identifier: string;
  readonly kind: ModelKind;
  /** Where it is taken from; `none`: computed without weights; `null`: absent. */
  readonly source: ModelSource | "none" | null;
  readonly path: string | null;
  readonly revision: string | null;
  readonly maxTokens: number | null;
  /** Size in memory without activations, in bytes. */
  readonly weightBytes: number | null;
  /** Why it is absent. */
  readonly missing: string | null;
}

export interface PullOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: PullProgress) => void;
}

const DEFAULT_ENDPOINT = "https://huggingface.co";
const DEFAULT_STALL_MS = 60_000;

export class ModelStore {
  readonly #hub: HubOptions;
  readonly #configured: Readonly<Record<string, ConfiguredModel>>;

  constructor({ hub, models }: ModelStoreOptions) {
    this.#hub = hub;
    this.#configured = models ?? {};
  }

  list(): readonly ModelState[] {
    return [...MODEL_REGISTRY.values()].map((entry) => this.#state(entry));
  }

  /** 400 for an identifier that is not one of ours. */
  state(identifier: string): ModelState {
    return this.#state(modelEntry(identifier));
  }

  /** Fetches what is missing. Offline, a model that is here already is fine and any other is 503. */
  async pull(identifier: string, options: PullOptions = {}): Promise<PulledModel> {
    const entry = this.#ofHub(identifier, "download");
    const revision = entry.hub?.revision ?? null;
    const { cacheFolder, endpoint, token, offline, wait = waitForReal, stallMs } = this.#hub;
    if (offline === true) return this.#pulledBefore(entry);
    const client = new HubClient({
      endpoint: (endpoint ?? DEFAULT_ENDPOINT).replace(/\/+$/u, ""),
      token: token ?? null,
      wait,
      stallMs: stallMs ?? DEFAULT_STALL_MS,
    });
    return pullModel(client, { repository: identifier, revision, cacheFolder, wait, ...options });
  }

  /** Reads every file of the model; 503 if it is absent. */
  verify(
    identifier: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly VerifiedFile[]> {
    const state = this.state(identifier);
    if (state.source === "none") return Promise.resolve([]);
    if (state.path === null) return Promise.reject(modelUnavailable(identifier, state.missing ?? ""));
    return verifyFiles(state.path, options.signal);
  }

  /**
   * Removes it from the cache; `null` if it is not there. Folders of the operator and of Sheaf stay; 400 for a model that
   * comes with Sheaf and is not in the cache besides.
   */
  async remove(identifier: string): Promise<RemovedSnapshot | null> {
    const entry = this.#ofHub(identifier, "remove");
    const cache = this.#cacheOf(entry);
    const commit = cache.commit(entry.hub?.revision ?? null);
    if (commit !== null && existsSync(cache.folder)) return removeSnapshot(cache, commit);
    if (entry.bundled === null) return null;
    throw new SheafError("invalid_argument", `${identifier} comes with Sheaf and cannot be removed`);
  }

  #state(entry: ModelEntry): ModelState {
    const { identifier, kind } = entry;
    const base = { identifier, kind, path: null, revision: null, weightBytes: null, missing: null };
    if (entry.head === "bm25") return { ...base, source: "none", maxTokens: null };
    const folder = findModelFolder(entry, this.#configured[identifier], this.#hub.cacheFolder);
    if ("missing" in folder)
      return { ...base, source: null, maxTokens: entry.maxTokens, missing: folder.missing };
    const { source, path, revision, maxTokens, weightBytes } = folder;
    return { ...base, source, path, revision, maxTokens, weightBytes };
  }

  #ofHub(identifier: string, verb: "download" | "remove"): ModelEntry {
    const entry = modelEntry(identifier);
    if (entry.hub !== null) return entry;
    throw new SheafError(
      "invalid_argument",
      `${identifier} is part of Sheaf and has no weights: there is nothing to ${verb}`,
    );
  }

  #cacheOf({ identifier }: ModelEntry): RepositoryCache {
    return new RepositoryCache(this.#hub.cacheFolder, identifier);
  }

  #pulledBefore(entry: ModelEntry): PulledModel {
    const cached = findModelFolder({ ...entry, bundled: null }, undefined, this.#hub.cacheFolder);
    if ("missing" in cached) {
      const { folder } = this.#cacheOf(entry);
      throw new SheafError(
        "model_unavailable",
        `${entry.identifier} is not in the cache, and HF_HUB_OFFLINE forbids to download it: unset HF_HUB_OFFLINE, or copy ` +
          `${folder} from a machine that has downloaded it`,
      );
    }
    return { path: cached.path, commit: cached.revision, totalBytes: cached.weightBytes };
  }
}
