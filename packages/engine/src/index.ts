/** What a gateway needs; nothing here loads LMDB. The engine in one's own process is `@sheaf/engine/local`. */
export type * from "./engine.ts";
export type { BackupHeader } from "./backup/backup-files.ts";
export { readHeader } from "./backup/backup-files.ts";
export type { BackupProgress, BackupRequest, MadeBackup } from "./backup/make-backup.ts";
export { type RestoredFolder, restoreBackup } from "./backup/restore-backup.ts";
export { type VerifiedBackup, verifyBackup } from "./backup/verify-backup.ts";
export type { IndexSettings } from "./collection/open-collection-options.ts";
export type { TenantQuotas } from "./collection/tenant-quotas.ts";
export { type CompactedStore, compactFolder } from "./doctor/compact-folder.ts";
export { type FolderExamination, examineFolder } from "./doctor/examine-folder.ts";
export type { Finding } from "./doctor/finding.ts";
export { salvage } from "./doctor/salvage.ts";
export type { EngineLog, EngineLogEntry } from "./engine-log.ts";
export { createHostedEngine } from "./host/create-hosted-engine.ts";
export type { HostedEngine } from "./host/hosted-engine.ts";
export type { HostedEngineOptions } from "./host/hosted-engine-options.ts";
export type { DiskReserve } from "./storage/folder/disk-space.ts";
export { prepareDataFolder } from "./storage/folder/prepare-data-folder.ts";
