/** Lays vectors out in two dimensions, beside the page. Ended by its owner, whatever it is doing. */
import { UMAP } from "umap-js";
import { principalAxes } from "./principal-axes.ts";

export interface ProjectionTask {
  readonly kind: "pca" | "umap";
  readonly vectors: Float32Array;
  readonly dimension: number;
}

export interface ProjectionNews {
  /** From 0 to 1. */
  readonly done: number;
  /** x and y of each vector; as far as they are known. */
  readonly places: Float32Array;
}

const TOLD_EVERY = 10;
const NEIGHBOURS = 15;

addEventListener("message", ({ data }: MessageEvent<ProjectionTask>) => {
  const { kind, vectors, dimension } = data;
  if (kind === "pca") tell({ done: 1, places: principalAxes(vectors, dimension) });
  else layOut(vectors, dimension);
});

function layOut(vectors: Float32Array, dimension: number): void {
  const count = vectors.length / dimension;
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from(vectors.subarray(i * dimension, (i + 1) * dimension)),
  );
  const umap = new UMAP({ nComponents: 2, nNeighbors: Math.max(2, Math.min(NEIGHBOURS, count - 1)) });
  const epochs = umap.initializeFit(rows);
  for (let epoch = 1; epoch <= epochs; epoch++) {
    umap.step();
    if (epoch % TOLD_EVERY === 0 || epoch === epochs)
      tell({ done: epoch / epochs, places: Float32Array.from(umap.getEmbedding().flat()) });
  }
}

function tell(news: ProjectionNews): void {
  postMessage(news);
}
