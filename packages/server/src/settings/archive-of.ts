/** What the engine is told of its archive. */
import { resolve } from "node:path";
import type { HostedEngineOptions } from "@sheaf/engine";
import type { BackupSettings } from "./backup-settings.ts";

/** Nothing where there is none. */
export function archiveOf({
  archive,
  archiveKeepMs,
  archiveFileBytes,
}: Pick<BackupSettings, "archive" | "archiveKeepMs" | "archiveFileBytes">): Pick<
  HostedEngineOptions,
  "archive"
> {
  if (archive === null) return {};
  return {
    archive: { folder: resolve(archive), keepMs: archiveKeepMs, segmentBytes: archiveFileBytes },
  };
}
