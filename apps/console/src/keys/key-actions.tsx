/** Replaces a key by another, or ends it; both are asked twice. */
import type { ApiKey, IssuedKey } from "@sheaf/client";
import { type ReactNode, useState } from "react";
import { Failure } from "../parts/states.tsx";
import { clientOf } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";

/** Seconds that the old key goes on beside the new one; "": as the server says. */
const OVERLAPS: readonly (readonly [string, string])[] = [
  ["", "as the server is set"],
  ["0", "not at all"],
  ["3600", "an hour"],
  ["86400", "a day"],
];

interface Props {
  readonly of: ApiKey;
  readonly onChanged: (key: IssuedKey | null) => void;
}

export function KeyActions({ of: { id, name, replacedBy }, onChanged }: Props): ReactNode {
  const client = clientOf(useSession());
  const [asking, setAsking] = useState<"rotate" | "revoke" | null>(null);
  const [overlap, setOverlap] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const done = (key: IssuedKey | null): void => {
    setAsking(null);
    onChanged(key);
  };
  const rotate = (): void => {
    const overlapSeconds = overlap === "" ? undefined : Number(overlap);
    client.rotateKey({ id, overlapSeconds }).then(done, setFailure);
  };
  const keep = (
    <button type="button" autoFocus={asking === "revoke"} onClick={() => setAsking(null)}>
      Keep it
    </button>
  );
  if (failure !== null) return <Failure error={failure} retry={() => setFailure(null)} />;
  if (asking === "revoke") {
    return (
      <div className="row">
        {keep}
        <button
          type="button"
          className="danger"
          onClick={() => void client.revokeKey({ id }).then(() => done(null), setFailure)}
        >
          Revoke {name} for good
        </button>
      </div>
    );
  }
  if (asking === "rotate") {
    return (
      <div className="row">
        <label className="picker">
          <span>The old key goes on</span>
          <select value={overlap} onChange={({ target }) => setOverlap(target.value)}>
            {OVERLAPS.map(([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="primary" onClick={rotate}>
          Make its successor
        </button>
        {keep}
      </div>
    );
  }
  return (
    <div className="row">
      {replacedBy === null && (
        <button type="button" onClick={() => setAsking("rotate")}>
          Rotate
        </button>
      )}
      <button type="button" className="danger" onClick={() => setAsking("revoke")}>
        Revoke
      </button>
    </div>
  );
}
