/** Names the flag to change where another program listens on a port. Other errors are passed on as they are. */
import { SettingError } from "./setting-error.ts";

export function portError(error: unknown, port: number, flag: string): unknown {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  if (!isTaken) return error;
  return new SettingError(`port ${port} is in use; choose another with ${flag}`, { cause: error });
}
