/** Vectors of the first records of a collection, page by page. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JsonObject } from "../parts/json-text.ts";
import { type Asked, ask, plainFields } from "../session/ask-collection.ts";
import { shortened } from "../parts/format.ts";

export interface SampledRecord {
  readonly id: string;
  readonly text: string;
  readonly metadata: JsonObject | null;
}

export interface Sample {
  readonly records: readonly SampledRecord[];
  readonly vectors: Float32Array;
  readonly dimension: number;
}

interface Columns {
  readonly ids: readonly string[];
  readonly embeddings: readonly (readonly number[] | null)[];
  readonly documents: readonly (string | null)[] | null;
  readonly metadatas: readonly (JsonObject | null)[] | null;
}

/** Reading more at once would hold up the page. */
const PAGE = 100;
const TEXT_CHARACTERS = 160;

export function useSample(asked: Asked, size: number) {
  const [read, setRead] = useState(0);
  const sample = useQuery({
    queryKey: ["sample", asked.collection.id, size],
    staleTime: Infinity,
    queryFn: ({ signal }) => readSample(asked, size, signal, setRead),
  });
  return { sample, read };
}

async function readSample(
  asked: Asked,
  size: number,
  signal: AbortSignal,
  onRead: (count: number) => void,
): Promise<Sample> {
  const dimension = asked.collection.info.dimension ?? 0;
  const records: SampledRecord[] = [];
  const vectors = new Float32Array(size * dimension);
  for (let offset = 0; offset < size;) {
    const limit = Math.min(PAGE, size - offset);
    const json = { limit, offset, include: ["embeddings", "documents", "metadatas"] };
    const page = await ask<Columns>(asked, "/get", json, signal);
    for (const [i, id] of page.ids.entries()) {
      vectors.set(page.embeddings[i] ?? [], records.length * dimension);
      const text = shortened(page.documents?.[i] ?? "", TEXT_CHARACTERS);
      records.push({ id, text, metadata: plainFields(page.metadatas?.[i] ?? null) });
    }
    offset += page.ids.length;
    onRead(offset);
    if (page.ids.length < limit) break;
  }
  return { records, vectors: vectors.subarray(0, records.length * dimension), dimension };
}
