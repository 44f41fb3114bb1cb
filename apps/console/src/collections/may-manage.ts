import { type Session, may } from "../session/session.ts";

/** Values of the parameter `manage`. */
export type Managed = "new" | "collection" | "databases";

/** Databases are beyond a key that is bound to one. */
export function mayManage(session: Session, managed: Managed): boolean {
  if (managed === "collection") return may(session, "read");
  if (managed === "new") return may(session, "write");
  return may(session, "admin") && session.current.database === null;
}
