/** Conditional transactions: reads that name the state they saw, and a commit that holds only if it still stands. */
import { readShape, writeCommitResult } from "@sheaf/protocol";
import { collectionParams } from "../http/path-params.ts";
import { type Route, ok } from "../http/route.ts";
import type { Services } from "../services/services.ts";
import { RECORDS as described } from "./record-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";

export function transactionRoutes({ replies, transactions }: Services): readonly Route[] {
  return [
    {
      method: "POST",
      path: `${COLLECTION}/conditional/get`,
      description: described.conditionalGet,
      scope: "read",
      tenant: "path",
      async handle(call) {
        const ref = collectionParams(call.params);
        const request = await call.parse("conditionalGet");
        const { read, token } = await transactions.read(ref, request, call.budget);
        return ok(await replies.body(read, readShape(request.get, token)));
      },
    },
    {
      method: "POST",
      path: `${COLLECTION}/conditional/commit`,
      description: described.conditionalCommit,
      scope: "write",
      tenant: "path",
      async handle(call) {
        const ref = collectionParams(call.params);
        const request = await call.parse("conditionalCommit");
        return ok(writeCommitResult(await transactions.commit(ref, request, call.budget)));
      },
    },
  ];
}
