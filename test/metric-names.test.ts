/** What the dashboard, the alerts and the guide name of the metrics are metrics of a server. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { ServerMetrics } from "../packages/server/src/metrics/server-metrics.ts";

it.each([
  "deploy/grafana/dashboards/sheaf.json",
  "deploy/prometheus/alerts.yml",
  "docs/guide/running-in-production.md",
  "docs/guide/running-several-machines.md",
  "docs/guide/several-machines.md",
])("%s names metrics that there are", async (page) => {
  const metrics = new ServerMetrics();
  metrics.watchBodies(() => ({ bytes: 0, queued: 0 }));
  metrics.watchBackups(() => ({ running: false, newest: 0, missing: false }));
  metrics.watchNodes(() => ({ search: 0, index: 0 }));
  metrics.watchEmbedNodes(() => ({ nodes: 0, inFlight: 0, alone: 0 }));
  const known = new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name));
  const text = await readFile(new URL(`../${page}`, import.meta.url), "utf8");
  const named = [...text.matchAll(/\bsheaf_[a-z_]*[a-z]\b/gu)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(5);
  const isKnown = (name: string): boolean =>
    known.has(name) || known.has(name.replace(/_(?:bucket|count|sum)$/u, ""));
  expect([...new Set(named)].filter((name) => !isKnown(name) && !OTHERS.has(name))).toEqual([]);
});

/** Users of PostgreSQL in the examples of the guide, and a package. */
const OTHERS = new Set(
  ["owner", "server", "gateway", "embed", "index", "client"].map((one) => `sheaf_${one}`),
);
