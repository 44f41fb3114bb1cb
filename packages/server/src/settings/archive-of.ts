/** What the engine is told of its archive. */
import { resolve } from "node:path";
import type { HostedEngineOptions } from "@sheaf/engine";
import type { BackupSettings } from "./backup-settings.ts";

/** Nothing where there is none. */
export function archiveOf({
  archive,
  archiveKeepMs,
}: Pick<BackupSettings, "archive" | "archiveKeepMs">): Pick<HostedEngineOptions, "archive"> {
  return archive === null ? {} : { archive: { folder: resolve(archive), keepMs: archiveKeepMs } };
}
