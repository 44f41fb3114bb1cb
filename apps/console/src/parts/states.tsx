/** What is shown where there is nothing to show: why, and what to do. */
import { AuthorizationError, SheafApiError, UnreachableError } from "@sheaf/client";
import type { ReactNode } from "react";
import { signOut, storedKey } from "../session/session.ts";

export function Failure({
  error,
  retry,
}: {
  readonly error: unknown;
  readonly retry?: () => void;
}): ReactNode {
  return (
    <div role="alert" className="failure">
      <p>{isFileMissing(error) ? "This part of the console could not be loaded." : messageOf(error)}</p>
      <p className="hint">{advice(error)}</p>
      {mayNeedAnotherKey(error) && (
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      )}
      {retry !== undefined && (
        <button type="button" onClick={isFileMissing(error) ? () => location.reload() : retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function advice(error: unknown): string {
  if (error instanceof UnreachableError || isFileMissing(error))
    return "The server does not answer. Is it running, and reachable from here?";
  if (mayNeedAnotherKey(error)) return "Another key may be needed: sign out to enter one.";
  if (error instanceof SheafApiError && error.requestId !== null)
    return `Request ${error.requestId} in the server's log.`;
  return "";
}

/** What browsers say of a part of the program that does not come. Only a new page asks for it again. */
function isFileMissing(error: unknown): boolean {
  return error instanceof TypeError && /dynamically imported module|importing a module/iu.test(error.message);
}

/** Whoever is signing in has none to sign out. */
function mayNeedAnotherKey(error: unknown): boolean {
  return error instanceof AuthorizationError && storedKey() !== null;
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
