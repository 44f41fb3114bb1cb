/** What of a filter documents show: what its `$contains` and `$regex` look for, where they are not negated. */
import type { Where } from "@sheaf/protocol";

export interface SoughtClause {
  readonly by: "$contains" | "$regex";
  /** The text or the pattern. */
  readonly text: string;
}

/** Each once. A clause of `$or` that a document does not match is found nowhere in it. */
export function soughtClauses(where: Where | null): readonly SoughtClause[] {
  const clauses = new Map<string, SoughtClause>();
  gather(where, clauses);
  return [...clauses.values()];
}

function gather(where: Where | null, into: Map<string, SoughtClause>): void {
  if (where === null) return;
  if (where.type === "and" || where.type === "or") {
    for (const child of where.children) gather(child, into);
  } else if (where.type === "document_contains" && !where.negated) add("$contains", where.text, into);
  else if (where.type === "document_regex" && !where.negated) add("$regex", where.pattern, into);
}

function add(by: SoughtClause["by"], text: string, into: Map<string, SoughtClause>): void {
  if (text !== "") into.set(`${by} ${text}`, { by, text });
}
