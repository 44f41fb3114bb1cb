/** What a server takes in one write, asked once. */
import type { WriteLimits } from "./records/write.ts";
import type { CallOptions, Transport } from "./transport.ts";

interface PreFlightReply {
  readonly max_batch_size: number;
  readonly supports_base64_encoding: boolean;
  readonly extensions?: readonly string[];
}

export interface PreFlightChecks extends WriteLimits {
  /** What the server takes beside what Chroma does, by name: `explain`, `POST /facets`. */
  readonly extensions: readonly string[];
}

export class ServerLimits {
  readonly #transport: Transport;
  #limits: PreFlightChecks | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(options: CallOptions): Promise<PreFlightChecks> {
    if (this.#limits !== null) return this.#limits;
    const request = { method: "GET", path: "/api/v2/pre-flight-checks" } as const;
    const reply = await this.#transport.send<PreFlightReply>(request, options);
    this.#limits = {
      maxBatchSize: reply.max_batch_size,
      supportsBase64Encoding: reply.supports_base64_encoding,
      extensions: reply.extensions ?? [],
    };
    return this.#limits;
  }
}
