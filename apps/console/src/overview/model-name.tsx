/** The model that embeds the documents of a collection. */
import type { Collection, CollectionUsage } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { LISTED } from "../session/use-scope.ts";
import { isObject } from "../parts/json-text.ts";

interface Props {
  readonly tenant: string;
  readonly usage: CollectionUsage;
}

export function ModelName({ tenant, usage: { database, id } }: Props): ReactNode {
  const session = useSession();
  const collections = useQuery({
    queryKey: ["collections", tenant, database],
    queryFn: ({ signal }) =>
      clientOf(session, { tenant, database }).listCollections({ limit: LISTED, signal }),
  });
  const found = collections.data?.find((collection) => collection.id === id);
  return found === undefined ? "" : modelOf(found);
}

/** As the dense index of its schema names it, else its configuration. */
export function modelOf({ info: { schema, configuration } }: Collection): string {
  const dense = schema.keys?.["#embedding"]?.float_list?.vector_index?.config?.embedding_function;
  return nameOf(dense) ?? nameOf(configuration.embedding_function) ?? "none: records bring vectors";
}

function nameOf(embeddingFunction: unknown): string | null {
  if (!isObject(embeddingFunction)) return null;
  const { config, name } = embeddingFunction;
  const model = isObject(config) ? (config["model"] ?? config["model_name"]) : null;
  if (typeof model === "string") return model;
  return typeof name === "string" && embeddingFunction["type"] === "known" ? name : null;
}
