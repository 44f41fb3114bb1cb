/** What was read of a file, and what was refused of it. */
import type { ReactNode } from "react";
import { number } from "../parts/format.ts";
import type { ReadFile } from "./read-files.ts";
import type { Refused } from "./refused.ts";

export function FileReport({ file }: { readonly file: ReadFile }): ReactNode {
  const { name, records, refused, chunking, kinds } = file;
  const [first] = records;
  return (
    <section>
      <h3>
        {name}: {number(records.length)} {records.length === 1 ? "record" : "records"}
        {refused.count > 0 && `, ${number(refused.count)} refused`}
      </h3>
      {first !== undefined && chunking === null && <p className="hint">The first one is {first.id}.</p>}
      {chunking !== null && (
        <p className="hint">The server cuts it by {chunking.by} into what its model takes.</p>
      )}
      {kinds.length > 0 && <p className="hint">Columns that are no text: {kinds.join(", ")}.</p>}
      <RefusedList refused={refused} />
    </section>
  );
}

export function RefusedList({ refused: { shown, count } }: { readonly refused: Refused }): ReactNode {
  if (count === 0) return null;
  return (
    <div className="problems" role="alert">
      <ul>
        {shown.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
        {count > shown.length && <li>and {number(count - shown.length)} more</li>}
      </ul>
    </div>
  );
}
