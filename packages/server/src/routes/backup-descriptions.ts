/** What the API description says of the backup routes. */
import { Type } from "../openapi/json-schema.ts";
import { type RouteDescription, answers } from "../http/route-description.ts";
import { ref } from "../openapi/schema-parts.ts";

const BY_NAME = { backup: Type.String({ description: "Name of the backup." }) } as const;

export const BACKUPS = {
  make: {
    summary: "Make a backup",
    details:
      "In the background, below `--backup-folder` (412 without it, and while another one is made). Readers and writers go on.",
    tag: "Backups",
    body: ref("BackupBody"),
    replies: { 202: { description: "It is being made.", schema: ref("Backup") } },
    errors: ["already_exists", "not_found", "failed_precondition"],
  },
  list: {
    summary: "List backups",
    tag: "Backups",
    replies: answers(Type.Array(ref("Backup")), "The newest first."),
    errors: ["failed_precondition"],
  },
  get: {
    summary: "Get a backup",
    details: "Of one that is being made, how many of its collections are copied.",
    tag: "Backups",
    path: BY_NAME,
    replies: answers(ref("Backup")),
    errors: ["not_found", "failed_precondition"],
  },
  cancel: {
    summary: "Cancel a backup",
    details: "One that is being made; what it has written is removed. Complete ones are never removed.",
    tag: "Backups",
    path: BY_NAME,
    replies: answers(ref("Empty")),
    errors: ["not_found", "failed_precondition"],
  },
} as const satisfies Record<string, RouteDescription>;
