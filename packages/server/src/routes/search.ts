/** Searches of one collection. */
import { searchShape } from "@sheaf/protocol";
import { collectionParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { RECORDS } from "./record-descriptions.ts";

const MS_PER_SECOND = 1_000;

const SEARCH = "/api/v2/tenants/:tenant/databases/:database/collections/:collection/search";

export function searchRoutes({ check, now, replies, search }: Services): readonly Route[] {
  return [
    {
      method: "POST",
      path: `${SEARCH}/check`,
      description: RECORDS.checkSearch,
      extension: "POST /search/check",
      scope: "read",
      tenant: "path",
      async handle(call) {
        const parsed = await call.parse("checkSearch", now() / MS_PER_SECOND);
        return ok(JSON.stringify(await check.check(collectionParams(call.params), parsed, call.budget)));
      },
    },
    {
      method: "POST",
      path: SEARCH,
      description: RECORDS.search,
      scope: "read",
      tenant: "path",
      async handle(call) {
        const ref = collectionParams(call.params);
        const request = await call.parse("search", now() / MS_PER_SECOND);
        const read = await search.search(ref, request, call.budget);
        return ok(await replies.body(read, searchShape(request, read.first.explained)));
      },
    },
  ];
}
