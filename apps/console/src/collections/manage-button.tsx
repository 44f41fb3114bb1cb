import type { ReactNode } from "react";
import { setParams } from "../route/place.ts";
import { useSession } from "../session/session-context.ts";
import { type Managed, mayManage } from "./may-manage.ts";

/** Opens the dialog, for keys that may do what it does. */
export function ManageButton({
  managed,
  children,
}: {
  readonly managed: Managed;
  readonly children: ReactNode;
}): ReactNode {
  if (!mayManage(useSession(), managed)) return null;
  return (
    <button type="button" onClick={() => setParams({ manage: managed }, "new")}>
      {children}
    </button>
  );
}
