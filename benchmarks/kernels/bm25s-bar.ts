import type { Bar } from "../measure/bar.ts";

/** The bar of the sparse index alone, beside bm25s in the same run. */
export function sparseBar(engineMs: number, bm25sMs: number): Bar {
  const name = "sparse top 100 in the engine, over bm25s";
  return { name, measured: engineMs / bm25sMs, bound: 0.4, side: "at most", digits: 3 };
}
