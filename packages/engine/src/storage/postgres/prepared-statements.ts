/** Which statements a connection prepares once, and under which names; any other one is planned each time. */
import type { Statements } from "./statements.ts";

/** Stands in each message that has PostgreSQL append. */
export const APPEND_NAME = "sheaf_append";

/**
 * By their text. Planning an append takes PostgreSQL three times as long as making it. They find rows by keys, so a plan that
 * knows no values is as good as one that does.
 */
export function preparedNames({ log }: Statements): ReadonlyMap<string, string> {
  return new Map([
    [log.append, APPEND_NAME],
    [log.heads, "sheaf_heads"],
  ]);
}
