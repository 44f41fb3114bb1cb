/** API keys. Only a key that is bound to no tenant may make, see, change or remove keys. */
import type { ListBatch, ListPage } from "@sheaf/engine";
import { type ApiKey, writeApiKey } from "@sheaf/protocol";
import { listPage } from "../http/list-page.ts";
import { DONE, type Reply, type Route, ok } from "../http/route.ts";
import type { IssuedKey } from "../services/key-service.ts";
import type { Services } from "../services/services.ts";
import { KEYS as described } from "./key-descriptions.ts";

const KEYS = "/api/v2/keys";
const KEY = "/api/v2/keys/:key";
const ADMIN = { scope: "admin", tenant: "unbound" } as const;

export function keyRoutes({ keys, lists }: Services): readonly Route[] {
  return [
    {
      ...ADMIN,
      method: "POST",
      path: KEYS,
      description: described.create,
      async handle(call) {
        return issued(await keys.create(await call.parse("createKey", keys.now)));
      },
    },
    {
      ...ADMIN,
      method: "GET",
      path: KEYS,
      description: described.list,
      handle(call) {
        const fetch = (page: ListPage): Promise<ListBatch<ApiKey>> => keys.list(page);
        const tenant = call.budget.owner;
        return listPage(lists, call, { tenant, fetch, write: (item) => [writeApiKey(item)] });
      },
    },
    {
      ...ADMIN,
      method: "DELETE",
      path: KEY,
      description: described.revoke,
      async handle({ params, budget }) {
        budget.outlastAccess();
        await keys.revoke(params["key"] ?? "");
        return DONE;
      },
    },
    {
      ...ADMIN,
      method: "POST",
      path: `${KEY}/rotate`,
      description: described.rotate,
      async handle(call) {
        const request = await call.parse("rotateKey", keys.now);
        call.budget.outlastAccess();
        return issued(await keys.rotate(call.params["key"] ?? "", request));
      },
    },
  ];
}

/** The one reply that holds a key: nobody on the way may keep it. */
function issued({ key, secret }: IssuedKey): Reply {
  return ok(writeApiKey(key, secret), { "cache-control": "no-store" });
}
