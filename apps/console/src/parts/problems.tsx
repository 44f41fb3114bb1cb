import type { Finding } from "@sheaf/client";
import type { ReactNode } from "react";

interface Props {
  readonly findings: readonly Finding[];
  readonly kind: "problems" | "warnings";
  /** Goes to the place that a finding names. */
  readonly onPath?: (path: string) => void;
}

const SHOWN = 20;

/** What the server says of a search, as one types. */
export function Problems({ findings, kind, onPath }: Props): ReactNode {
  if (findings.length === 0) return null;
  return (
    <div className={`problems ${kind}`} role={kind === "problems" ? "alert" : "status"}>
      <ul>
        {findings.slice(0, SHOWN).map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            {onPath === undefined || path === "" ? (
              message.replace(/^searches\[0\]\.(?:where\.?)?/u, "")
            ) : (
              <button type="button" className="plain" onClick={() => onPath(path)}>
                {message}
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
