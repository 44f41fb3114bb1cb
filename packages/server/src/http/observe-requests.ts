/**
 * Measures every request, and logs the slow ones with where their time went. Like the rest of the log it names the
 * route by its pattern and the key by its id; paths, bodies and keys stay out.
 */
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { StageClock } from "../metrics/stage-clock.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Rows that the dense searches of the request compared. */
    rowsScanned: number;
  }
}

export interface ObservationOptions {
  readonly metrics: ServerMetrics;
  readonly clock: StageClock;
  readonly logger: Logger;
  /** 0: no request is slow. */
  readonly slowRequestMs: number;
}

const MS_PER_SECOND = 1_000;

/** To be called before the routes are registered. */
export function observeRequests(app: FastifyInstance, options: ObservationOptions): void {
  const { metrics, clock, logger, slowRequestMs } = options;
  app.decorateRequest("rowsScanned", 0);
  app.addHook("onRequest", (request, _reply, done) => {
    const { deadline } = request;
    deadline?.reportTo((report) => {
      clock.report(deadline.stages, report);
      request.rowsScanned += report.rowsScanned;
    });
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { method, deadline } = request;
    const milliseconds = reply.elapsedTime;
    const { statusCode: status } = reply;
    const route = request.pattern ?? "unknown";
    metrics.request({ method, route, status, seconds: milliseconds / MS_PER_SECOND });
    if (slowRequestMs !== 0 && milliseconds >= slowRequestMs) {
      const spent = Object.fromEntries(
        [...(deadline?.stages ?? [])].map(([stage, ms]) => [stage, Math.round(ms)]),
      );
      logger.warn(
        {
          requestId: request.id,
          ...{ method, route, status, milliseconds: Math.round(milliseconds) },
          stages: spent,
          rowsScanned: request.rowsScanned,
          key: request.principal?.id ?? null,
          client: request.clientAddress,
        },
        "slow request",
      );
    }
    done();
  });
}
