/**
 * An embedder as other servers call it. Tenants share the queues of its models as if they had asked it themselves; what a caller
 * counts tokens for hears of them before a model runs, and the call waits for its word. What a connection has begun ends with it.
 */
import type { PeerService, PeerSession } from "@sheaf/process";
import { type CancelSignal, type ErrorMessage, LIMITS, SheafError, abortable } from "@sheaf/protocol";
import type { EmbedOptions, EmbedRequest, Embedder, SplitRequest } from "../embedder.ts";
import { Admission } from "../scheduler/admission.ts";
import {
  type CountedTokens,
  type EmbedCaller,
  type EmbedCalls,
  TOKENS_EVENT,
  charactersOf,
  packIfLong,
  placeholderOf,
} from "./embed-calls.ts";

type Emit = (name: string, value: unknown) => void;

/** @param characters Of the texts of one tenant under way; of all together four times as many. */
export function embedService(embedder: Embedder, characters = LIMITS.queuedCharacters): PeerService {
  // Queues bound what waits for a thread or a model; this, the texts of all calls under way.
  const admission = new Admission({
    ...{ name: "the embed node", unit: "characters", bound: characters, rate: () => 0 },
  });
  return {
    isReady: () => true,
    connect: (emit) => new EmbedSession(embedder, admission, emit),
  };
}

class EmbedSession implements PeerSession {
  readonly ownerOf = ownerOf;
  /** A call that waits for the word of its caller is under way itself, and that word may come to a node that leaves. */
  readonly open = { count: (): number => 0, isPartOf: (method: string): boolean => method === "admit" };
  readonly #embedder: Embedder;
  readonly #admission: Admission;
  readonly #emit: Emit;
  /** Calls that wait for the word of their caller, by ticket. */
  readonly #waiting = new Map<number, (refusal: ErrorMessage | null) => void>();

  constructor(embedder: Embedder, admission: Admission, emit: Emit) {
    this.#embedder = embedder;
    this.#admission = admission;
    this.#emit = emit;
  }

  readonly handle: PeerSession["handle"] = (method, args, { signal }) => {
    switch (method as keyof EmbedCalls) {
      case "models":
        return Promise.resolve(this.#embedder.models());
      case "identity": {
        const [model] = args as EmbedCalls["identity"];
        return this.#embedder.identity(model);
      }
      case "dense":
      case "sparse":
        return this.#embed(method as "dense" | "sparse", args as EmbedCalls["dense"], signal);
      case "split": {
        const [request, { owner }] = args as EmbedCalls["split"];
        return this.#split(request, { owner, signal });
      }
      case "admit": {
        const [ticket, refusal] = args as EmbedCalls["admit"];
        this.#waiting.get(ticket)?.(refusal);
        return Promise.resolve();
      }
      default:
        return Promise.reject(new SheafError("internal", `an embed node has no method ${method}`));
    }
  };

  async #embed(
    method: "dense" | "sparse",
    [request, { owner, ticket }]: readonly [EmbedRequest, EmbedCaller],
    signal: CancelSignal,
  ): Promise<unknown> {
    const options: EmbedOptions = {
      ...{ owner, signal },
      ...(ticket !== null && { admitTokens: (count) => this.#admitted({ ticket, count }, signal) }),
    };
    const asked = { ...request, describe: placeholderOf };
    const characters = charactersOf(request.texts);
    this.#admission.enter(characters, owner);
    try {
      const answer = await this.#embedder[method](asked, options);
      const width = "dimension" in answer ? answer.dimension : 1_024;
      await packIfLong(answer, width * answer.vectors.length, signal);
      return answer;
    } finally {
      this.#admission.leave(characters, owner);
    }
  }

  async #split(
    request: SplitRequest,
    options: EmbedOptions & { readonly owner: string },
  ): Promise<Uint32Array> {
    this.#admission.enter(request.text.length, options.owner);
    try {
      return await this.#embedder.split(request, options);
    } finally {
      this.#admission.leave(request.text.length, options.owner);
    }
  }

  async #admitted(counted: CountedTokens, signal: CancelSignal): Promise<void> {
    const { ticket } = counted;
    const word = new Promise<ErrorMessage | null>((resolve) => this.#waiting.set(ticket, resolve));
    try {
      this.#emit(TOKENS_EVENT, counted);
      const refusal = await abortable(word, signal);
      if (refusal !== null) throw SheafError.fromMessage(refusal);
    } finally {
      this.#waiting.delete(ticket);
    }
  }
}

function ownerOf(args: readonly unknown[]): string {
  const caller = args[1];
  return typeof caller === "object" && caller !== null && "owner" in caller ? String(caller.owner) : "";
}
