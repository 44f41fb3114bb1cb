/** What is shown where there is nothing to show: why, and what to do. */
import { AuthorizationError, SheafApiError, UnreachableError } from "@sheaf/client";
import type { ReactNode } from "react";

export function Failure({
  error,
  retry,
}: {
  readonly error: unknown;
  readonly retry?: () => void;
}): ReactNode {
  return (
    <div role="alert" className="failure">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <p className="hint">{advice(error)}</p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function advice(error: unknown): string {
  if (error instanceof UnreachableError)
    return "The server does not answer. Is it running, and reachable from here?";
  if (error instanceof AuthorizationError) return "Another key may be needed: sign out to enter one.";
  if (error instanceof SheafApiError && error.requestId !== null)
    return `Request ${error.requestId} in the server's log.`;
  return "";
}

export function Empty({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className="empty">{children}</div>;
}

export function Loading({ what }: { readonly what: string }): ReactNode {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  );
}
