/** API keys: what there are, making one, replacing one, ending one. */
import type { ApiKey, IssuedKey } from "@sheaf/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ago, number } from "../parts/format.ts";
import { Modal } from "../parts/modal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ListTable } from "../parts/tables.tsx";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { useScope } from "../session/use-scope.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { KeyActions } from "./key-actions.tsx";
import { NewKey } from "./new-key.tsx";

const LISTED = 500;

export function KeysView(): ReactNode {
  const client = clientOf(useSession());
  const { tenants } = useScope();
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
      {keys.data !== undefined && <KeyTable keys={keys.data} onChanged={changed} />}
      <Modal title="A new key" open={making} onClose={() => setMaking(false)}>
        <NewKey client={client} tenants={tenants} onMade={changed} />
      </Modal>
      <Modal title="The key" open={issued !== null} onClose={() => setIssued(null)} isHeld>
        <p>It is shown this once. Copy it to where it is used.</p>
        <pre tabIndex={0}>{issued?.key}</pre>
        <div className="row">
          <CopyButton key={issued?.key} text={issued?.key ?? ""} />
          <button type="button" onClick={() => setIssued(null)}>
            Done
          </button>
        </div>
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
      heads={["Name", "Tenant", "Database", "Scopes", "Limits", "Last used", "Expires", "Actions"]}
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            {key.name}
            <div className="hint">{key.id}</div>
            {key.replacedBy !== null && <div className="hint">replaced by {key.replacedBy}</div>}
          </td>
          <td>{key.tenant ?? "every one"}</td>
          <td>{key.database ?? "every one"}</td>
          <td>{key.scopes.join(", ")}</td>
          <td>{limitsOf(key)}</td>
          <td>{ago(key.lastUsedAt)}</td>
          <td>{endOf(key)}</td>
          <td>
            <KeyActions of={key} onChanged={onChanged} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function limitsOf({ limits }: ApiKey): string {
  const said = [
    [limits.requestsPerMinute, "requests/min"],
    [limits.tokensPerMinute, "tokens/min"],
    [limits.concurrentRequests, "at a time"],
  ] as const;
  const texts = said.flatMap(([limit, unit]) =>
    limit === null || limit === undefined ? [] : [limit === 0 ? `any ${unit}` : `${number(limit)} ${unit}`],
  );
  return texts.length === 0 ? "the server's" : texts.join(", ");
}

function endOf({ expiresAt }: ApiKey): string {
  if (expiresAt === null) return "never";
  const time = `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return expiresAt.getTime() <= Date.now() ? `expired ${time}` : time;
}
