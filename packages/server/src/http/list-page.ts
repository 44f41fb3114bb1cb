/** Lists, whole or page by page. A page says where the next one begins: `offset` counts what is there when it is asked. */
import { extensionRefusal, parsePage } from "@sheaf/protocol";
import type { List, ListReplies } from "../replies/list-replies.ts";
import { type Call, type Reply, ok } from "./route.ts";

export const NEXT_HEADER = "x-sheaf-next";

/** The list that a call asks for with `limit`, `offset` and `after`. */
export async function listPage<T>(
  lists: ListReplies,
  { query, strict, budget }: Pick<Call, "query" | "strict" | "budget">,
  list: Pick<List<T>, "tenant" | "fetch" | "write">,
): Promise<Reply> {
  const page = parsePage(query);
  if (strict && page.after !== undefined) throw extensionRefusal("?after", "after");
  const { body, next } = await lists.page({ ...list, budget, page });
  return strict || next === null ? ok(body) : ok(body, { [NEXT_HEADER]: next });
}
