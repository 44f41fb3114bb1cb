/** What embeds the texts of a server, by its role. */
import { ClusterEmbedder, type Embedder, type EmbedderOptions, createEmbedder } from "@sheaf/inference";
import { HAS_LEFT } from "@sheaf/process";
import type { Logger } from "pino";
import type { Settings } from "./config.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import { refuseModels } from "./services/role-embedder.ts";
import { clusterSecretOf } from "./settings/cluster-settings.ts";

interface Embedders {
  /** For what callers of this server send. To be closed. */
  readonly embedder: Embedder;
  /** Runs models here, if the role lets it. */
  readonly local: Embedder;
  /** `null`: no other server embeds for this one. */
  readonly shared: ClusterEmbedder | null;
}

interface Surroundings {
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
}

export function makeEmbedders(
  settings: Settings,
  options: EmbedderOptions,
  { logger, metrics }: Surroundings,
): Embedders {
  const local = createEmbedder({ ...modelEvents(logger, metrics), ...options });
  const shared = sharedEmbedder(settings, local, logger);
  if (shared !== null) metrics.watchEmbedNodes(() => shared.measure);
  const { role } = settings;
  const alone = role === "search" || role === "index" ? refuseModels(local, role) : local;
  return { embedder: shared ?? alone, local, shared };
}

function sharedEmbedder(settings: Settings, local: Embedder, logger: Logger): ClusterEmbedder | null {
  const { role, nodeListen, localModels } = settings;
  if (role !== "gateway" && !(role === "search" && nodeListen !== null)) return null;
  return new ClusterEmbedder({
    secret: clusterSecretOf(settings),
    local,
    runsModels: role === "gateway" && localModels,
    onNode: (name, problem) => {
      if (problem === null) logger.info(`connected to the embed node ${name}`);
      else if (problem === HAS_LEFT) logger.info(`the embed node ${name} has left`);
      else logger.warn({ error: problem }, `the embed node ${name} cannot be reached`);
    },
  });
}

function modelEvents(
  logger: Logger,
  metrics: ServerMetrics,
): Pick<EmbedderOptions, "onEvent" | "onBatch" | "onLoad" | "onReplicaDeath"> {
  const child = (model: string): string => `model replica of ${model}`;
  return {
    onEvent: (message) => logger.warn(message),
    onBatch: (batch) => metrics.batch(batch),
    onLoad: (model, milliseconds) => {
      metrics.childStarted(child(model));
      logger.info({ model, milliseconds: Math.round(milliseconds) }, "loaded a model");
    },
    onReplicaDeath: (model) => metrics.childEnded(child(model)),
  };
}
