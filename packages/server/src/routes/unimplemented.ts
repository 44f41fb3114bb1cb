/** Paths of the interface that this server does not serve; their callers are told so once they may be here. */
import { type ErrorCode, SheafError } from "@sheaf/protocol";
import type { Route } from "../http/route.ts";
import { ATTACHED_FUNCTIONS } from "./record-descriptions.ts";

const COLLECTION = "/api/v2/tenants/:tenant/databases/:database/collections/:collection";
const READ = { scope: "read", tenant: "path" } as const;
const WRITE = { scope: "write", tenant: "path" } as const;

export function unimplementedRoutes(): readonly Route[] {
  const functions = refusal("unimplemented", "attached functions are not supported");
  return [
    {
      ...WRITE,
      method: "POST",
      path: `${COLLECTION}/functions/attach`,
      description: ATTACHED_FUNCTIONS,
      handle: functions,
    },
    {
      ...READ,
      method: "GET",
      path: `${COLLECTION}/functions/:function`,
      description: ATTACHED_FUNCTIONS,
      handle: functions,
    },
    {
      ...WRITE,
      method: "POST",
      path: `${COLLECTION}/attached_functions/:function/add_input`,
      description: ATTACHED_FUNCTIONS,
      handle: functions,
    },
    {
      ...WRITE,
      method: "POST",
      path: `${COLLECTION}/attached_functions/:function/detach`,
      description: ATTACHED_FUNCTIONS,
      handle: functions,
    },
  ];
}

function refusal(code: ErrorCode, message: string): () => never {
  return () => {
    throw new SheafError(code, message);
  };
}
