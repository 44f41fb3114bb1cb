/** A record as a line of JSON, which `sheaf import` reads. Integers and floats are told apart, as in every body. */
import { fromDocumentText, writeDense, writeMetadata } from "@sheaf/protocol";
import type { StoredRecord } from "../storage/stored-record.ts";

/** Without the line's end. */
export function recordLine({ id, embedding, document, uri, metadata }: StoredRecord): string {
  const vector = writeDense([embedding]).slice(1, -1);
  const text = document === null ? null : fromDocumentText(document);
  return (
    `{"id":${JSON.stringify(id)},"embedding":${vector},"document":${JSON.stringify(text)},` +
    `"uri":${JSON.stringify(uri)},"metadata":${writeMetadata(metadata)}}`
  );
}
