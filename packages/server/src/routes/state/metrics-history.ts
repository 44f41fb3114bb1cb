/** The last hour of the server, to a key that is bound to no tenant: it is everybody's. */
import { type Route, ok } from "../../http/route.ts";
import type { Services } from "../../services/services.ts";
import { NOT_KEPT, STATE as described } from "./state-descriptions.ts";

export function metricsHistoryRoutes({ metrics }: Services): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/api/v2/metrics/history",
      description: described.history,
      scope: "admin",
      tenant: "unbound",
      handle: () => ok(history(), NOT_KEPT),
    },
  ];

  function history(): string {
    const intervals = metrics.history.intervals.map(({ from, ...rest }) => ({
      from: new Date(from).toISOString(),
      ...rest,
    }));
    return JSON.stringify({ interval_seconds: metrics.history.intervalSeconds, intervals });
  }
}
