/** The models of the server: what they are, how they are, and fetching the weights of one. */
import type { ModelInfo } from "@sheaf/inference";
import { type Route, ok } from "../../http/route.ts";
import type { Services } from "../../services/services.ts";
import { NOT_KEPT, STATE as described } from "./state-descriptions.ts";

const MODELS = "/api/v2/models";

export function modelRoutes({ models }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: MODELS,
      description: described.models,
      scope: "embed",
      tenant: "none",
      handle: () => ok(JSON.stringify(models.list().map(describeModel)), NOT_KEPT),
    },
    {
      method: "POST",
      path: `${MODELS}/pull`,
      description: described.pull,
      scope: "admin",
      tenant: "unbound",
      async handle(call) {
        const { model } = await call.parse("pullModel");
        const info = models.pull(model);
        const status = info.available ? 200 : 202;
        return { status, body: JSON.stringify(describeModel(info)), headers: NOT_KEPT };
      },
    },
  ];
}

function describeModel(info: ModelInfo): object {
  const { identifier, kind, dimension, maxTokens, queryModel, available, memoryBytes, loaded, pull } = info;
  return {
    ...{ identifier, kind, dimension, max_tokens: maxTokens, query_model: queryModel },
    ...{ available, loaded, memory_bytes: memoryBytes },
    pull:
      pull?.state === "pulling"
        ? { state: pull.state, received_bytes: pull.receivedBytes, total_bytes: pull.totalBytes }
        : pull,
  };
}
