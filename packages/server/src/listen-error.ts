/** Why a listener cannot start, in words that name the flag to change. Other errors are passed on as they are. */
import { SheafError } from "@sheaf/protocol";
import { SettingError } from "./settings/setting-error.ts";

export interface ListenSettings {
  readonly host: string;
  readonly port: number;
  /** Flags that set the two. */
  readonly flags: { readonly host: string; readonly port: string };
}

const ADDRESSES =
  "give an address of this machine, 127.0.0.1 for this machine alone or 0.0.0.0 for all its addresses";

export function listenError(error: unknown, { host, port, flags }: ListenSettings): unknown {
  switch (error instanceof Error && "code" in error ? error.code : null) {
    case "EADDRINUSE":
      // Not the setting's fault: the same command starts once the other program has ended.
      return new SheafError(
        "failed_precondition",
        `port ${port} is in use on ${host}; choose another with ${flags.port}, or end the program that uses it`,
        { cause: error },
      );
    case "EACCES":
      return new SettingError(
        `port ${port} is not open to this user; choose another with ${flags.port}, such as 8000`,
        { cause: error },
      );
    case "ENOTFOUND":
      return new SettingError(`${flags.host} ${host}: there is no host of this name; ${ADDRESSES}`, {
        cause: error,
      });
    case "EAI_AGAIN":
      return new SettingError(
        `${flags.host} ${host}: the name cannot be looked up, because no name server answers; ${ADDRESSES}`,
        { cause: error },
      );
    case "EADDRNOTAVAIL":
    case "EINVAL":
      return new SettingError(`${flags.host} ${host}: this is no address of this machine; ${ADDRESSES}`, {
        cause: error,
      });
    default:
      return error;
  }
}
