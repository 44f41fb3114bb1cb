/** Processes that have ended and were started again since the server started, by what they run. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { counted } from "../parts/format.ts";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";

const REFRESH_MS = 10_000;
const RESTARTS = /^sheaf_child_restarts_total\{child="((?:[^"\\]|\\.)*)"\} (\d+)/gmu;

export function ProcessHealth(): ReactNode {
  const client = clientOf(useSession());
  const metrics = useQuery({
    queryKey: ["metrics"],
    refetchInterval: REFRESH_MS,
    queryFn: ({ signal }) => client.metrics({ signal }),
  });
  const ready = useQuery({
    queryKey: ["ready"],
    refetchInterval: REFRESH_MS,
    queryFn: ({ signal }) => client.isReady({ signal }),
  });
  const processes = [...(metrics.data ?? "").matchAll(RESTARTS)].map(([, name = "", restarts]) => ({
    name,
    restarts: Number(restarts),
  }));
  return (
    <p className="chips" aria-label="Processes" role="group">
      <span className="chip">{ready.data === false ? "the engine does not answer" : "ready"}</span>
      {processes.map(({ name, restarts }) => (
        <span key={name} className="chip">
          {name}: {restarts === 0 ? "no restarts" : `started again, ${counted(restarts, "time")}`}
        </span>
      ))}
    </p>
  );
}
