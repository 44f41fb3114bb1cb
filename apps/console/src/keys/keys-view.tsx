/** API keys: what there are, making one, replacing one, ending one. */
import type { ApiKey, IssuedKey } from "@sheaf/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ago } from "../parts/format.ts";
import { Modal } from "../parts/modal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ListTable } from "../parts/tables.tsx";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { NewKey } from "./new-key.tsx";

const LISTED = 500;

export function KeysView(): ReactNode {
  const client = clientOf(useSession());
  const queries = useQueryClient();
  const [making, setMaking] = useState(false);
  const [issued, setIssued] = useState<IssuedKey | null>(null);
  const keys = useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => client.listKeys({ limit: LISTED, signal }),
  });
  const changed = (key: IssuedKey | null): void => {
    setMaking(false);
    setIssued(key);
    void queries.invalidateQueries({ queryKey: ["keys"] });
  };
  return (
    <>
      <div className="row">
        <h1>Keys</h1>
        <button type="button" className="primary" onClick={() => setMaking(true)}>
          Make a key
        </button>
      </div>
      {keys.isPending && <Loading what="the keys" />}
      {keys.isError && <Failure error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isSuccess && <KeyTable keys={keys.data} onChanged={changed} />}
      <Modal title="A new key" open={making} onClose={() => setMaking(false)}>
        <NewKey client={client} onMade={changed} />
      </Modal>
      <Modal title="The key" open={issued !== null} onClose={() => setIssued(null)}>
        <p>It is shown this once. Copy it to where it is used.</p>
        <pre tabIndex={0}>{issued?.key}</pre>
        <button
          type="button"
          className="primary"
          onClick={() => void navigator.clipboard.writeText(issued?.key ?? "")}
        >
          Copy
        </button>
      </Modal>
    </>
  );
}

interface TableProps {
  readonly keys: readonly ApiKey[];
  readonly onChanged: (key: IssuedKey | null) => void;
}

function KeyTable({ keys, onChanged }: TableProps): ReactNode {
  if (keys.length === 0)
    return <Empty>There are no keys beside the root key. Programs should have keys of their own.</Empty>;
  return (
    <ListTable
      label="Keys"
      heads={["Name", "Tenant", "Database", "Scopes", "Last used", "Expires", "Actions"]}
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            {key.name}
            <div className="hint">{key.id}</div>
          </td>
          <td>{key.tenant ?? "every one"}</td>
          <td>{key.database ?? "every one"}</td>
          <td>{key.scopes.join(", ")}</td>
          <td>{ago(key.lastUsedAt)}</td>
          <td>{key.expiresAt?.toISOString().slice(0, 16).replace("T", " ") ?? "never"}</td>
          <td>
            <KeyActions of={key} onChanged={onChanged} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

interface ActionProps {
  readonly of: ApiKey;
  readonly onChanged: (key: IssuedKey | null) => void;
}

function KeyActions({ of: { id, name, replacedBy }, onChanged }: ActionProps): ReactNode {
  const client = clientOf(useSession());
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  if (failure !== null) return <Failure error={failure} />;
  if (asking) {
    return (
      <div className="row">
        <button
          type="button"
          className="danger"
          onClick={() => void client.revokeKey({ id }).then(() => onChanged(null), setFailure)}
        >
          Revoke {name} for good
        </button>
        <button type="button" onClick={() => setAsking(false)}>
          Keep it
        </button>
      </div>
    );
  }
  return (
    <div className="row">
      {replacedBy === null && (
        <button type="button" onClick={() => void client.rotateKey({ id }).then(onChanged, setFailure)}>
          Rotate
        </button>
      )}
      <button type="button" className="danger" onClick={() => setAsking(true)}>
        Revoke
      </button>
    </div>
  );
}
