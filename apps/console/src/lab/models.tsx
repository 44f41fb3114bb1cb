/** The models of the server with their state; whoever may has weights fetched. */
import type { Model } from "@sheaf/client";
import { type ReactNode, useState } from "react";
import { bytes, number } from "../parts/format.ts";
import { Failure } from "../parts/states.tsx";
import { ListTable } from "../parts/tables.tsx";
import { clientOf, isRoot } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";

interface Props {
  readonly models: readonly Model[];
  readonly onChanged: () => void;
}

export function Models({ models, onChanged }: Props): ReactNode {
  return (
    <ListTable
      label="Models"
      title="Models"
      heads={["Model", "Kind", "Dimension", "Tokens", "Memory", "State"]}
    >
      {models.map((model) => (
        <tr key={model.identifier}>
          <td>{model.identifier}</td>
          <td>{model.kind}</td>
          <td>{number(model.dimension)}</td>
          <td>{model.maxTokens === null ? "any" : number(model.maxTokens)}</td>
          <td>{bytes(model.memoryBytes)}</td>
          <td>
            <State model={model} onChanged={onChanged} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function State({ model, onChanged }: { readonly model: Model; readonly onChanged: () => void }): ReactNode {
  const session = useSession();
  const [failure, setFailure] = useState<unknown>(null);
  const { available, loaded, pull, identifier } = model;
  if (available) return loaded ? "in memory" : "here";
  if (pull?.state === "pulling") {
    const { receivedBytes, totalBytes } = pull;
    return (
      <>
        <progress aria-label={`Fetching ${identifier}`} max={Math.max(1, totalBytes)} value={receivedBytes} />
        {bytes(receivedBytes)} of {bytes(totalBytes)}
      </>
    );
  }
  return (
    <>
      {pull?.state === "failed" ? "could not be fetched; the log says why " : "not here "}
      {isRoot(session) && (
        <button
          type="button"
          onClick={() => void clientOf(session).pullModel({ model: identifier }).then(onChanged, setFailure)}
        >
          Fetch
        </button>
      )}
      {failure !== null && <Failure error={failure} />}
    </>
  );
}
