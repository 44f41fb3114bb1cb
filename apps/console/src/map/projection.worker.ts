/** Lays vectors out in two dimensions, beside the page. Ended by its owner, whatever it is doing. */
import { UMAP } from "umap-js";
import { principalAxes } from "./principal-axes.ts";

/** Pages of vectors first, each one behind the other, then what is to be made of them. */
export type ProjectionMessage =
  | { readonly page: Float32Array }
  | { readonly kind: "pca" | "umap"; readonly dimension: number };

export interface ProjectionNews {
  /** From 0 to 1. */
  readonly done: number;
  /** x and y of each vector; as far as they are known. */
  readonly places: Float32Array;
}

const TOLD_EVERY = 10;
const NEIGHBOURS = 15;
const LEAST_FOR_UMAP = 4;

const pages: Float32Array[] = [];

addEventListener("message", ({ data }: MessageEvent<ProjectionMessage>) => {
  if ("page" in data) pages.push(data.page);
  else if (data.kind === "pca" || isFew(data.dimension))
    tell({ done: 1, places: principalAxes(joined(), data.dimension) });
  else layOut(joined(), data.dimension);
});

/** UMAP compares each with some others. */
function isFew(dimension: number): boolean {
  return pages.reduce((sum, { length }) => sum + length, 0) < LEAST_FOR_UMAP * dimension;
}

function joined(): Float32Array {
  const vectors = new Float32Array(pages.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const page of pages.splice(0)) {
    vectors.set(page, at);
    at += page.length;
  }
  return vectors;
}

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
