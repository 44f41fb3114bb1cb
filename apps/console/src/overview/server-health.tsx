/** Requests, latencies by stage, tokens and models of the last hour. */
import type { MetricsHistory } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { LineChart, type Series } from "./line-chart.tsx";
import { ProcessHealth } from "./process-health.tsx";
import { TenantsTable } from "./tenants-table.tsx";

const REFRESH_MS = 10_000;

export function ServerHealth(): ReactNode {
  const session = useSession();
  const history = useQuery({
    queryKey: ["history"],
    refetchInterval: REFRESH_MS,
    queryFn: ({ signal }) => clientOf(session).metricsHistory({ signal }),
  });
  return (
    <section aria-label="Server">
      <h2>The server</h2>
      <ProcessHealth />
      <TenantsTable />
      <h2>The last hour</h2>
      {history.isPending && <Loading what="the metrics" />}
      {history.isError && <Failure error={history.error} retry={() => void history.refetch()} />}
      {history.isSuccess && <Charts history={history.data} />}
    </section>
  );
}

function Charts({ history }: { readonly history: MetricsHistory }): ReactNode {
  const stages = useMemo(
    () => [...new Set(history.intervals.flatMap(({ stages }) => Object.keys(stages)))].sort(),
    [history],
  );
  const [stage, setStage] = useState("request");
  const times = useMemo(() => history.intervals.map(({ from }) => from.getTime() / 1_000), [history]);
  if (times.length === 0)
    return <Empty>Nothing was asked of the server yet. The first numbers come after ten seconds.</Empty>;
  const { intervals, intervalSeconds } = history;
  const perSecond = (count: number): number => count / intervalSeconds;
  const traffic: readonly Series[] = [
    { name: "requests/s", values: intervals.map(({ requests }) => perSecond(requests)) },
    { name: "refused/s", values: intervals.map(({ refused }) => perSecond(refused)) },
    { name: "failed/s", values: intervals.map(({ failed }) => perSecond(failed)) },
  ];
  const latency: readonly Series[] = [
    { name: "p50 ms", values: intervals.map(({ stages: of }) => of[stage]?.p50 ?? null) },
    { name: "p95 ms", values: intervals.map(({ stages: of }) => of[stage]?.p95 ?? null) },
  ];
  return (
    <div className="columns">
      <div className="card">
        <h3>Requests</h3>
        <LineChart label="Requests a second" times={times} series={traffic} />
      </div>
      <div className="card">
        <div className="row">
          <h3>Time of</h3>
          <select aria-label="Stage" value={stage} onChange={(event) => setStage(event.target.value)}>
            {(stages.includes(stage) ? stages : [stage, ...stages]).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <LineChart label={`Milliseconds of ${stage}`} times={times} series={latency} />
      </div>
    </div>
  );
}
