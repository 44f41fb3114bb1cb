/** Texts in, vectors out: tokens, sparse terms, how alike texts are, and the models that do it. */
import type { Model } from "@sheaf/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { number } from "../parts/format.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { setParams, usePlace } from "../route/place.ts";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { Models } from "./models.tsx";
import { Similarities } from "./similarities.tsx";
import { Terms } from "./terms.tsx";

const MOST_TEXTS = 20;

export function LabView(): ReactNode {
  const client = clientOf(useSession());
  const models = useQuery<readonly Model[]>({
    queryKey: ["models"],
    refetchInterval: (query) =>
      query.state.data?.some(({ pull }) => pull?.state === "pulling") ? 1_000 : false,
    queryFn: ({ signal }) => client.listModels({ signal }),
  });
  if (models.isPending) return <Loading what="the models" />;
  if (models.isError) return <Failure error={models.error} retry={() => void models.refetch()} />;
  return (
    <>
      <h1>Embedding lab</h1>
      <Texts models={models.data} />
      <Models models={models.data} onChanged={() => void models.refetch()} />
    </>
  );
}

function Texts({ models }: { readonly models: readonly Model[] }): ReactNode {
  const client = clientOf(useSession());
  const { params } = usePlace();
  const usable = models.filter(({ available }) => available);
  const chosen = usable.find(({ identifier }) => identifier === params["model"]) ?? usable[0];
  const [text, setText] = useState(params["texts"] ?? "");
  const texts = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, MOST_TEXTS);
  const embedding = useMutation({
    mutationFn: async (model: Model) => {
      const asked = { model: model.identifier, texts };
      if (model.kind === "dense") {
        const { embeddings, numTokens } = await client.embed(asked);
        return { texts, numTokens, dense: embeddings, sparse: null };
      }
      const { embeddings, numTokens } = await client.embedSparse(asked);
      return { texts, numTokens, dense: null, sparse: embeddings };
    },
  });
  if (chosen === undefined) return <p className="card">No model is here yet: fetch one below.</p>;
  const { data } = embedding;
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        setParams({ texts: text, model: chosen.identifier });
        embedding.mutate(chosen);
      }}
    >
      <label className="field">
        <span>Texts, one a line</span>
        <textarea rows={5} data-search value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <div className="row">
        <label className="picker">
          <span>Model</span>
          <select value={chosen.identifier} onChange={({ target }) => setParams({ model: target.value })}>
            {usable.map(({ identifier }) => (
              <option key={identifier}>{identifier}</option>
            ))}
          </select>
        </label>
        <button className="primary" disabled={texts.length === 0 || embedding.isPending}>
          Embed
        </button>
      </div>
      {embedding.isError && <Failure error={embedding.error} />}
      {data !== undefined && (
        <p role="status">
          {number(data.numTokens)} tokens in {number(data.texts.length)} texts.
        </p>
      )}
      {data?.dense != null && <Similarities texts={data.texts} vectors={data.dense} />}
      {data?.sparse != null && <Terms texts={data.texts} vectors={data.sparse} />}
    </form>
  );
}
