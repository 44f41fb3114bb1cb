/** Records of a collection: writing, deleting, reading by id and filter, nearest neighbours. */
import { type WriteKind, getShape, queryShape } from "@sheaf/protocol";
import { collectionParams } from "../http/path-params.ts";
import { DONE, type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { RECORDS } from "./record-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";
const READ = { scope: "read", tenant: "path" } as const;
const WRITE = { scope: "write", tenant: "path" } as const;

export function recordRoutes({ engine, highlights, replies, write }: Services): readonly Route[] {
  return [
    writeRoute("add", 201, write),
    writeRoute("upsert", 200, write),
    writeRoute("update", 200, write),
    {
      ...WRITE,
      method: "POST",
      path: `${COLLECTION}/delete`,
      description: RECORDS.delete,
      async handle(call) {
        const ref = collectionParams(call.params);
        const deleted = await engine().delete(ref, await call.parse("delete"), call.budget);
        return ok(JSON.stringify({ deleted }));
      },
    },
    {
      ...READ,
      method: "POST",
      path: `${COLLECTION}/get`,
      description: RECORDS.get,
      async handle(call) {
        const ref = collectionParams(call.params);
        const { budget } = call;
        const request = await call.parse("get");
        const complete = highlights.completing([request.highlight], budget);
        const first = await engine().get(ref, request, budget);
        return ok(await replies.body({ ref, first, budget, complete }, getShape(request)));
      },
    },
    {
      ...READ,
      method: "POST",
      path: `${COLLECTION}/query`,
      description: RECORDS.query,
      async handle(call) {
        const ref = collectionParams(call.params);
        const request = await call.parse("query");
        const first = await engine().query(ref, request, call.budget);
        const shape = queryShape(request.include, request.embeddings.length);
        return ok(await replies.body({ ref, first, budget: call.budget }, shape));
      },
    },
  ];
}

function writeRoute(kind: WriteKind, status: number, write: Services["write"]): Route {
  return {
    ...WRITE,
    method: "POST",
    path: `${COLLECTION}/${kind}`,
    description: RECORDS[kind],
    async handle(call) {
      const ref = collectionParams(call.params);
      await write.write(ref, await call.parse(kind), call.budget);
      return { ...DONE, status };
    },
  };
}
