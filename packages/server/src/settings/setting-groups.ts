/** The settings by what they are about, for `--help` and the page of settings. */
import { BACKUP_SETTINGS } from "./backup-settings.ts";
import { BOUND_SETTINGS } from "./bound-settings.ts";
import { CLUSTER_SETTINGS } from "./cluster-settings.ts";
import { SETTINGS, type Setting, type Settings } from "../config.ts";
import { CONNECTION_SETTINGS } from "./connection-settings.ts";
import { DATABASE_SETTINGS } from "./database-settings.ts";
import { MODEL_SETTINGS } from "./model-settings.ts";
import { OBJECT_SETTINGS } from "./object-settings.ts";
import { REPLY_SETTINGS } from "./reply-settings.ts";
import { STORE_SETTINGS } from "./store-settings.ts";
import { TLS_SETTINGS } from "./tls-settings.ts";

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly (readonly [keyof Settings, Setting])[];
}

const TABLES: Readonly<Record<string, object>> = {
  Connections: CONNECTION_SETTINGS,
  TLS: TLS_SETTINGS,
  Models: MODEL_SETTINGS,
  Requests: BOUND_SETTINGS,
  Replies: REPLY_SETTINGS,
  Backups: BACKUP_SETTINGS,
  Storage: STORE_SETTINGS,
  Database: DATABASE_SETTINGS,
  "Object store": OBJECT_SETTINGS,
  Cluster: CLUSTER_SETTINGS,
};

/** What stands in no table of its own comes first. */
export const SETTING_GROUPS: readonly SettingGroup[] = ["Server", ...Object.keys(TABLES)].map((title) => ({
  title,
  settings: (Object.entries(SETTINGS) as [keyof Settings, Setting][]).filter(
    ([name]) => titleOf(name) === title,
  ),
}));

function titleOf(name: keyof Settings): string {
  return Object.keys(TABLES).find((title) => Object.hasOwn(TABLES[title] ?? {}, name)) ?? "Server";
}
