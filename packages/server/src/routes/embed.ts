/** The three embedding endpoints. They know the statuses 400, 401, 413 (not sparse), 429 and 501 and `{error}` only. */
import type { EmbedUsage } from "@sheaf/inference";
import { invalid, writeDense, writeSparse } from "@sheaf/protocol";
import { type Call, type Reply, type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { EMBEDDING } from "./embed-descriptions.ts";

const EMBED = { method: "POST", scope: "embed", tenant: "none", surface: "embed" } as const;

export function embedRoutes({ embed }: Services): readonly Route[] {
  const dense = async (call: Call): Promise<Reply> => {
    const model = requestedModel(call);
    const body = await call.parse("embed");
    const embedded = await embed.dense(model, body, call.budget);
    return reply(writeDense(embedded.vectors), embedded);
  };
  return [
    { ...EMBED, path: "/embed", description: EMBEDDING.dense, handle: dense },
    // What shipped clients call. Hidden from the description of the interface, as the interface has it.
    { ...EMBED, path: "/", deprecated: true, handle: dense },
    {
      ...EMBED,
      path: "/embed_sparse",
      description: EMBEDDING.sparse,
      tooLargeStatus: 400,
      async handle(call) {
        const model = requestedModel(call);
        const body = await call.parse("embed");
        const embedded = await embed.sparse(model, body, call.budget);
        return reply(writeSparse(embedded.vectors, body.labels), embedded);
      },
    },
  ];
}

function reply(embeddings: string, { numTokens, truncatedInputs, tokens }: EmbedUsage): Reply {
  const pieces = tokens === undefined ? "" : `,"tokens":${JSON.stringify(tokens)}`;
  return ok(`{"embeddings":${embeddings},"num_tokens":${numTokens}${pieces}}`, {
    "x-truncated-inputs": String(truncatedInputs),
  });
}

function requestedModel(call: Call): string {
  const model = call.header("x-service-embedding-model") ?? call.header("x-chroma-embedding-model");
  if (model === null) throw invalid("x-service-embedding-model", "this header must name a model");
  return model;
}
