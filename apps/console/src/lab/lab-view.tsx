/** Texts in, vectors out: tokens, sparse terms, how alike texts are, and the models that do it. */
import type { Model, SheafClient, SparseEmbedding, TextTokens } from "@sheaf/client";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { counted, number } from "../parts/format.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { setParams, usePlace } from "../route/place.ts";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { Models } from "./models.tsx";
import { Pieces } from "./pieces.tsx";
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
  const refresh = (): void => void models.refetch();
  if (models.isPending) return <Loading what="the models" />;
  return (
    <>
      <h1>Embedding lab</h1>
      {models.isError && <Failure error={models.error} retry={refresh} />}
      {models.data !== undefined && (
        <>
          <Texts models={models.data} onEmbedded={refresh} />
          <Models models={models.data} onChanged={refresh} />
        </>
      )}
    </>
  );
}

interface TextsProps {
  readonly models: readonly Model[];
  /** The model may be in memory now. */
  readonly onEmbedded: () => void;
}

function Texts({ models, onEmbedded }: TextsProps): ReactNode {
  const client = clientOf(useSession());
  const { params } = usePlace();
  const usable = models.filter(({ available }) => available);
  const chosen = usable.find(({ identifier }) => identifier === params["model"]) ?? usable[0];
  const asked = params["texts"] ?? "";
  const [draft, setDraft] = useState({ of: asked, text: asked });
  const text = draft.of === asked ? draft.text : asked;
  const texts = linesOf(asked).slice(0, MOST_TEXTS);
  const embedded = useQuery({
    queryKey: ["embedded", chosen?.identifier, texts],
    enabled: chosen !== undefined && texts.length > 0,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const result = await embed(client, chosen!, texts, signal);
      onEmbedded();
      return result;
    },
  });
  if (chosen === undefined) return <p className="card">No model is here yet: fetch one below.</p>;
  const lines = linesOf(text);
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        setDraft({ of: text, text });
        if (text === asked && embedded.isError) void embedded.refetch();
        setParams({ texts: text, model: chosen.identifier }, text === asked ? "same" : "new");
      }}
    >
      <label className="field">
        <span>Texts, one a line</span>
        <textarea
          rows={5}
          data-search
          placeholder={"ships in the harbour\nboats at sea"}
          value={text}
          onChange={({ target }) => setDraft({ of: asked, text: target.value })}
        />
        {lines.length > MOST_TEXTS && (
          <span className="hint">
            The first {MOST_TEXTS} of {number(lines.length)} texts are embedded.
          </span>
        )}
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
        <button className="primary" disabled={lines.length === 0 || embedded.isFetching}>
          Embed
        </button>
      </div>
      {embedded.isLoading && <Loading what="the vectors" />}
      {embedded.isError && <Failure error={embedded.error} />}
      {embedded.isSuccess && <Embedded of={embedded.data} />}
    </form>
  );
}

function Embedded({
  of: { texts, numTokens, tokens, dense, sparse },
}: {
  readonly of: Embedding;
}): ReactNode {
  return (
    <>
      <p role="status">
        {counted(numTokens, "token")} in {counted(texts.length, "text")}.
      </p>
      {dense !== null && texts.length > 1 && <Similarities texts={texts} vectors={dense} />}
      {sparse !== null && <Terms texts={texts} vectors={sparse} />}
      <h2>Tokens</h2>
      <Pieces texts={texts} tokens={tokens} />
    </>
  );
}

interface Embedding {
  readonly texts: readonly string[];
  readonly numTokens: number;
  readonly tokens: readonly TextTokens[];
  readonly dense: readonly (readonly number[])[] | null;
  readonly sparse: readonly SparseEmbedding[] | null;
}

async function embed(
  client: SheafClient,
  { identifier, kind }: Model,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedding> {
  const asked = { model: identifier, texts, pieces: true, signal };
  if (kind === "dense") {
    const { embeddings, numTokens, tokens = [] } = await client.embed(asked);
    return { texts, numTokens, tokens, dense: embeddings, sparse: null };
  }
  const { embeddings, numTokens, tokens = [] } = await client.embedSparse(asked);
  return { texts, numTokens, tokens, dense: null, sparse: embeddings };
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
