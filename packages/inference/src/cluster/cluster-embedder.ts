/**
 * The embedder of a server that has embed nodes: texts go to the node with the fewest of them among those that have the model's
 * weights. BM25 needs none and stays here. Where no node can be asked this server runs the model itself, if it may. A text that is
 * embedded twice gives the same vector, so a call whose node fails goes to another one.
 */
import {
  CallBudget,
  type ClusterSecret,
  HedgeDelay,
  type PeerAddress,
  PeerFailure,
  type PeerLink,
  PeerPool,
  callPeers,
  peerName,
} from "@sheaf/process";
import { type CancelSignal, type ModelIdentity, SheafError } from "@sheaf/protocol";
import type {
  DenseEmbeddings,
  EmbedOptions,
  EmbedRequest,
  Embedder,
  ModelInfo,
  SparseEmbeddings,
  SplitRequest,
  TermSearch,
} from "../embedder.ts";
import { modelEntry } from "../models/model-registry.ts";
import {
  type CountedTokens,
  type EmbedCaller,
  type EmbedCalls,
  TOKENS_EVENT,
  charactersOf,
  packIfLong,
  withNames,
} from "./embed-calls.ts";

export interface ClusterEmbedderOptions {
  readonly secret: ClusterSecret;
  /** Knows the models, and embeds what needs no weights. */
  readonly local: Embedder;
  /** Whether it runs a model that no node has. */
  readonly runsModels: boolean;
  /** A node can be called from now on (`null`), or cannot, and why. */
  readonly onNode?: (name: string, problem: string | null) => void;
}

/** What is being done, and how often a second node or this server had to. */
export interface EmbedNodeMeasure {
  readonly nodes: number;
  readonly inFlight: number;
  /** Calls that no node answered and this server did itself. */
  readonly alone: number;
}

const LOOK_MS = 1_000;
/** As the scheduler of a node has it: few texts are a query that somebody waits for. */
const INTERACTIVE_TEXTS = 4;

type Admit = (count: number) => Promise<void>;
type Method = Exclude<keyof EmbedCalls, "admit" | "models">;
/** A call as each node gets it. */
interface Asked<M extends Method> {
  readonly method: M;
  readonly model: string;
  readonly args: EmbedCalls[M];
  readonly signal: CancelSignal | undefined;
  readonly texts: number;
}

export class ClusterEmbedder implements Embedder {
  readonly #local: Embedder;
  readonly #runsModels: boolean;
  readonly #nodes: PeerPool;
  readonly #budget = new CallBudget();
  readonly #delay = new HedgeDelay();
  /** Of each node that can be called, by its name, those it has weights of. */
  readonly #models = new Map<string, ReadonlyMap<string, ModelInfo>>();
  readonly #identities = new Map<string, Promise<ModelIdentity>>();
  /** Who counts the tokens of a call, by its ticket. */
  readonly #admissions = new Map<number, Admit>();
  readonly #looks: NodeJS.Timeout;
  readonly #looking = new Set<PeerLink>();
  #lastTicket = 0;
  #alone = 0;

  constructor({ secret, local, runsModels, onNode = () => {} }: ClusterEmbedderOptions) {
    this.#local = local;
    this.#runsModels = runsModels;
    this.#nodes = new PeerPool(secret, {
      onEvent: (name, value, link) => {
        if (name === TOKENS_EVENT) void this.#answerTokens(link, value as CountedTokens);
      },
      onChange: (link, problem) => {
        this.#models.delete(link.name);
        // A node that comes, or comes back, may have other weights.
        this.#identities.clear();
        if (problem === null) void this.#look(link);
        onNode(link.name, problem);
      },
    });
    this.#looks = setInterval(() => {
      for (const link of this.#nodes.open) void this.#look(link);
    }, LOOK_MS).unref();
  }

  /** The embed nodes that there are. */
  update(nodes: readonly PeerAddress[]): void {
    this.#nodes.update(nodes);
    // Of one that has left in order nobody hears.
    const known = new Set(nodes.map((node) => peerName(node)));
    for (const name of this.#models.keys())
      if (!known.has(name) && this.#models.delete(name)) this.#identities.clear();
  }

  get measure(): EmbedNodeMeasure {
    const { open } = this.#nodes;
    const inFlight = open.reduce((sum, link) => sum + link.inFlight, 0);
    return { nodes: open.length, inFlight, alone: this.#alone };
  }

  models(): readonly ModelInfo[] {
    return this.#local.models().map((own) => this.#info(own));
  }

  model(identifier: string): ModelInfo {
    return this.#info(this.#local.model(identifier));
  }

  pull(identifier: string): void {
    this.#local.model(identifier);
    if (!this.#runsModels)
      throw new SheafError(
        "failed_precondition",
        "this server runs no models: fetch weights on the embed nodes",
      );
    this.#local.pull(identifier);
  }

  /** That of the vectors to come, unless the nodes have changed meanwhile: `EmbedRequest.weights` makes sure. */
  identity(model: string): Promise<ModelIdentity> {
    if (needsNoWeights(model)) return this.#local.identity(model);
    const known = this.#identities.get(model);
    if (known !== undefined) return known;
    const asked = { method: "identity", model, args: [model], signal: undefined, texts: 0 } as const;
    const identity = this.#ask(asked, (local) => local.identity(model));
    this.#identities.set(model, identity);
    identity.catch(() => this.#identities.delete(model));
    return identity;
  }

  dense(request: EmbedRequest, options: EmbedOptions = {}): Promise<DenseEmbeddings> {
    return this.#embed("dense", request, options, (local, admitted) => local.dense(request, admitted));
  }

  sparse(request: EmbedRequest, options: EmbedOptions = {}): Promise<SparseEmbeddings> {
    return this.#embed("sparse", request, options, (local, admitted) => local.sparse(request, admitted));
  }

  /** Only terms of BM25 are words of a text. */
  findTerms(search: TermSearch, options?: EmbedOptions): Promise<readonly Uint32Array[] | null> {
    return this.#local.findTerms(search, options);
  }

  async split(request: SplitRequest, options: EmbedOptions = {}): Promise<Uint32Array> {
    const { signal, owner = "" } = options;
    const args: EmbedCalls["split"] = [request, { owner, ticket: null }];
    await packIfLong(request, request.text.length, signal);
    const asked = { method: "split", model: request.model, args, signal, texts: 1 } as const;
    return this.#ask(asked, (local) => local.split(request, options));
  }

  async close(): Promise<void> {
    clearInterval(this.#looks);
    await Promise.all([this.#nodes.close(), this.#local.close()]);
  }

  async #embed<T>(
    method: "dense" | "sparse",
    { describe = (index) => `texts[${index}]`, ...request }: EmbedRequest,
    options: EmbedOptions,
    here: (local: Embedder, options: EmbedOptions) => Promise<T>,
  ): Promise<T> {
    const { signal, owner = "" } = options;
    if (needsNoWeights(request.model)) return here(this.#local, options);
    let admitted: Promise<void> | undefined;
    // Once, however often the call is made.
    const admit: Admit = (count) => (admitted ??= options.admitTokens?.(count) ?? Promise.resolve());
    const ticket = options.admitTokens === undefined ? null : (this.#lastTicket += 1);
    const caller: EmbedCaller = { owner, ticket };
    if (ticket !== null) this.#admissions.set(ticket, admit);
    try {
      await packIfLong(request, charactersOf(request.texts), signal);
      const texts = request.texts.length;
      const asked = { method, model: request.model, args: [request, caller], signal, texts } as const;
      return await this.#ask(asked, (local) => here(local, { ...options, admitTokens: admit }));
    } catch (error) {
      throw named(error, describe);
    } finally {
      if (ticket !== null) this.#admissions.delete(ticket);
    }
  }

  /** Of a node; where none can be asked, or all have failed, of this server. */
  async #ask<M extends Method, T>(
    { method, model, args, signal, texts }: Asked<M>,
    here: (local: Embedder) => Promise<T>,
  ): Promise<T> {
    const links = this.#linksFor(model);
    if (links.length === 0) return this.#here(model, here);
    const repeat = method !== "split" && texts <= INTERACTIVE_TEXTS ? "hedged" : "again";
    const call = { method, args, options: { signal, weight: Math.max(1, texts) }, repeat } as const;
    const rules = { what: "embed node", budget: this.#budget, delay: this.#delay, isOfPeer };
    try {
      return (await callPeers(links, call, rules)).value as T;
    } catch (error) {
      // Another one may be asked for the weights that are there now.
      if (isOfPeer(error)) this.#identities.delete(model);
      const isLost = error instanceof SheafError && error.cause instanceof PeerFailure;
      if (isLost && this.#runsModels && this.#local.model(model).available) return this.#here(model, here);
      throw error;
    }
  }

  #here<T>(model: string, here: (local: Embedder) => Promise<T>): Promise<T> {
    if (this.#runsModels || needsNoWeights(model)) {
      this.#alone += 1;
      return here(this.#local);
    }
    const hasNodes = this.#nodes.open.length > 0;
    return Promise.reject(
      hasNodes
        ? new SheafError(
            "model_unavailable",
            `no embed node has the weights of ${modelEntry(model).identifier}`,
          )
        : new SheafError(
            "unavailable",
            "no embed node takes calls now, and this server runs no models; try again",
            {
              retryAfterSeconds: 1,
            },
          ),
    );
  }

  /** Those with the fewest texts first; of those that have none, always the same one for a model, which has it loaded. */
  #linksFor(model: string): readonly PeerLink[] {
    modelEntry(model);
    return this.#nodes
      .ranked(model)
      .filter(({ name }) => this.#models.get(name)?.has(model))
      .toSorted((a, b) => a.inFlight - b.inFlight);
  }

  #info(own: ModelInfo): ModelInfo {
    const { identifier } = own;
    if (needsNoWeights(identifier)) return own;
    const infos = [...this.#models.values()].flatMap((models) => models.get(identifier) ?? []);
    const [first] = infos;
    if (first === undefined) return this.#runsModels ? own : { ...own, available: false };
    return { ...first, loaded: infos.some(({ loaded }) => loaded) };
  }

  async #look(link: PeerLink): Promise<void> {
    if (this.#looking.has(link)) return;
    this.#looking.add(link);
    try {
      const models = (await link.call("models", [], { weight: 0 })) as readonly ModelInfo[];
      const here = models.filter(({ available }) => available);
      if (link.isOpen) this.#models.set(link.name, new Map(here.map((info) => [info.identifier, info])));
    } catch {
      // It has ended, or does not answer: the link finds out by itself.
    } finally {
      this.#looking.delete(link);
    }
  }

  async #answerTokens(link: PeerLink, { ticket, count }: CountedTokens): Promise<void> {
    const admit = this.#admissions.get(ticket);
    if (admit === undefined) return;
    const refusal = await admit(count).then(
      () => null,
      (error: unknown) =>
        error instanceof SheafError
          ? error.toMessage()
          : new SheafError("internal", "internal error").toMessage(),
    );
    await link.call("admit", [ticket, refusal], { weight: 0, goesOn: true }).catch(() => undefined);
  }
}

/** Another node may have the weights. */
function isOfPeer(error: unknown): boolean {
  return (
    error instanceof SheafError && (error.code === "model_mismatch" || error.code === "model_unavailable")
  );
}

function needsNoWeights(model: string): boolean {
  return modelEntry(model).head === "bm25";
}

/** With the caller's own names of texts. */
function named(error: unknown, describe: (index: number) => string): unknown {
  if (!(error instanceof SheafError) || !error.message.includes("\0")) return error;
  const { code, message, retryAfterSeconds } = error;
  return new SheafError(code, withNames(message, describe), {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    cause: error,
  });
}
