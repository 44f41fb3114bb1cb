/** Vectors of the first records of a collection, page by page, in base64. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JsonObject } from "../parts/json-text.ts";
import { type Asked, ask, plainFields } from "../session/ask-collection.ts";
import { shortened } from "../parts/format.ts";
import { readBase64Floats } from "./base64-floats.ts";

export interface SampledRecord {
  readonly id: string;
  readonly text: string;
  readonly metadata: JsonObject | null;
}

export interface Sample {
  readonly records: readonly SampledRecord[];
  /** Of one page of records each, one vector behind the other. */
  readonly pages: readonly Float32Array[];
  readonly dimension: number;
}

interface Columns {
  readonly ids: readonly string[];
  readonly embeddings: readonly (string | null)[];
  readonly documents: readonly (string | null)[] | null;
  readonly metadatas: readonly (JsonObject | null)[] | null;
}

/** Its JSON is read in some milliseconds, so that the page goes on meanwhile. */
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
  const pages: Float32Array[] = [];
  for (let offset = 0; offset < size;) {
    const limit = Math.min(PAGE, size - offset);
    const include = ["embeddings", "documents", "metadatas"];
    const page = await ask<Columns>(
      asked,
      "/get",
      { limit, offset, include, encoding_format: "base64" },
      signal,
    );
    const vectors = new Float32Array(page.ids.length * dimension);
    for (const [i, id] of page.ids.entries()) {
      readBase64Floats(page.embeddings[i] ?? "", vectors, i * dimension);
      const text = shortened(page.documents?.[i] ?? "", TEXT_CHARACTERS);
      records.push({ id, text, metadata: plainFields(page.metadatas?.[i] ?? null) });
    }
    pages.push(vectors);
    offset += page.ids.length;
    onRead(offset);
    if (page.ids.length < limit) break;
  }
  return { records, pages, dimension };
}
