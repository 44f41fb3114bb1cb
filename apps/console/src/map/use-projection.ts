import { useEffect, useState } from "react";
import type { ProjectionMessage, ProjectionNews } from "./projection.worker.ts";
import type { Sample } from "./use-sample.ts";

const PAGES_PER_TASK = 8;

/** What a worker knows of the layout so far, or what ended it. */
export type Projection = ProjectionNews | { readonly failure: string };

/** `null`: nothing is known yet. The worker ends when it is done, with the component, or by another layout. */
export function useProjection(sample: Sample | undefined, kind: "pca" | "umap"): Projection | null {
  const [known, setKnown] = useState<{
    readonly of: Sample;
    readonly kind: string;
    readonly news: Projection;
  } | null>(null);
  useEffect(() => {
    if (sample === undefined || sample.records.length === 0) return undefined;
    const worker = new Worker(new URL("./projection.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<ProjectionNews>) => {
      setKnown({ of: sample, kind, news: data });
      // It has a copy of all vectors.
      if (data.done === 1) worker.terminate();
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      setKnown({ of: sample, kind, news: { failure: event.message } });
    });
    const end = new AbortController();
    void send(worker, sample, kind, end.signal);
    return () => {
      end.abort();
      worker.terminate();
    };
  }, [sample, kind]);
  return known !== null && known.of === sample && known.kind === kind ? known.news : null;
}

/** Copied in parts, a task each: all at once would hold up the page. */
async function send(
  worker: Worker,
  { pages, dimension }: Sample,
  kind: "pca" | "umap",
  signal: AbortSignal,
): Promise<void> {
  const post = (message: ProjectionMessage): void => worker.postMessage(message, []);
  for (const [i, page] of pages.entries()) {
    if (i % PAGES_PER_TASK === 0) await nextTask();
    if (signal.aborted) return;
    post({ page });
  }
  post({ kind, dimension });
}

/** Not a frame: a tab that is not shown has none. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
