import { useEffect, useState } from "react";
import type { ProjectionNews, ProjectionTask } from "./projection.worker.ts";
import type { Sample } from "./use-sample.ts";

/** What a worker knows of the layout so far; `null`: nothing yet. The worker is ended with the component, or by another layout. */
export function useProjection(
  sample: Sample | undefined,
  kind: ProjectionTask["kind"],
): ProjectionNews | null {
  const [known, setKnown] = useState<{
    readonly of: Sample;
    readonly kind: string;
    readonly news: ProjectionNews;
  } | null>(null);
  useEffect(() => {
    if (sample === undefined || sample.records.length === 0) return undefined;
    const worker = new Worker(new URL("./projection.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<ProjectionNews>) =>
      setKnown({ of: sample, kind, news: data }),
    );
    const vectors = sample.vectors.slice();
    const task: ProjectionTask = { kind, vectors, dimension: sample.dimension };
    worker.postMessage(task, [vectors.buffer]);
    return () => worker.terminate();
  }, [sample, kind]);
  return known !== null && known.of === sample && known.kind === kind ? known.news : null;
}
