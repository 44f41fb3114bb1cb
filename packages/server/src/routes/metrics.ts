/** The metrics, to a key that is bound to no tenant: they are the whole server's. */
import { type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { SYSTEM } from "./system-descriptions.ts";

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

export function metricsRoutes({ renderMetrics }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/metrics",
      description: SYSTEM.metrics,
      scope: "admin",
      tenant: "unbound",
      handle: async () => ok(await renderMetrics(), { "content-type": TEXT_FORMAT }),
    },
  ];
}
