/** Backups: everybody's records, so only a key that is bound to no tenant may make or see them. */
import { type Route, ok } from "../http/route.ts";
import { backupReply } from "../services/backups/backup-status.ts";
import type { Services } from "../services/services.ts";
import { BACKUPS as described } from "./backup-descriptions.ts";

const BACKUPS = "/api/v2/backups";
const BACKUP = "/api/v2/backups/:backup";
const ADMIN = { scope: "admin", tenant: "unbound" } as const;

export function backupRoutes({ backups }: Services): readonly Route[] {
  return [
    {
      ...ADMIN,
      method: "POST",
      path: BACKUPS,
      description: described.make,
      handle: async (call) => ({
        status: 202,
        body: JSON.stringify(backupReply(await backups.start(await call.parse("makeBackup")))),
      }),
    },
    {
      ...ADMIN,
      method: "GET",
      path: BACKUPS,
      description: described.list,
      handle: async () => ok(JSON.stringify((await backups.list()).map(backupReply))),
    },
    {
      ...ADMIN,
      method: "GET",
      path: BACKUP,
      description: described.get,
      handle: async ({ params }) =>
        ok(JSON.stringify(backupReply(await backups.get(params["backup"] ?? "")))),
    },
    {
      ...ADMIN,
      method: "DELETE",
      path: BACKUP,
      description: described.cancel,
      async handle({ params }) {
        await backups.cancel(params["backup"] ?? "");
        return ok("{}");
      },
    },
  ];
}
