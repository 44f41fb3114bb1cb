/** Writes the records that match to a file. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { number } from "../parts/format.ts";
import type { JsonObject } from "../parts/json-text.ts";
import type { Asked } from "../session/ask-collection.ts";
import type { ReadRecords } from "./export-records.ts";

/** All of it is in the memory of the tab; `sheaf export` writes collections of any size. */
const MOST_RECORDS = 100_000;

interface Props {
  readonly asked: Asked;
  readonly where: JsonObject | null;
}

type Format = "csv" | "jsonl";

export function ExportButton({ asked, where }: Props): ReactNode {
  const [state, setState] = useState("");
  const [running, setRunning] = useState<AbortController | null>(null);
  const last = useRef<AbortController>(null);
  // Whoever leaves the view ends what it does.
  useEffect(() => () => last.current?.abort(), []);
  const begin = async (format: Format): Promise<void> => {
    const end = new AbortController();
    last.current = end;
    setRunning(end);
    setState("");
    try {
      const { asCsv, asJsonLines, readRecords } = await import("./export-records.ts");
      const onProgress = (records: number): void => setState(`${number(records)} records…`);
      const read = await readRecords(asked, { where, most: MOST_RECORDS, signal: end.signal, onProgress });
      const lines = format === "csv" ? asCsv(read.records) : asJsonLines(read.records);
      download(`${asked.collection.name}.${format}`, lines);
      setState(said(read));
    } catch (error) {
      setState(end.signal.aborted ? "Stopped." : error instanceof Error ? error.message : String(error));
    }
    setRunning(null);
  };
  return (
    <>
      <select
        aria-label="Export"
        value=""
        disabled={running !== null}
        onChange={(event) => {
          if (event.target.value !== "") void begin(event.target.value as Format);
        }}
      >
        <option value="">Export…</option>
        <option value="csv">CSV</option>
        <option value="jsonl">JSON lines</option>
      </select>
      {running !== null && (
        <button type="button" onClick={() => running.abort()}>
          Stop the export
        </button>
      )}
      <span className="hint" role="status">
        {state}
      </span>
    </>
  );
}

/** What the file is not. */
function said({ isCut, isChanged, gone }: ReadRecords): string {
  return [
    isCut && `The first ${number(MOST_RECORDS)} records.`,
    isChanged && "The collection was changed meanwhile: records are as they were when each was read.",
    gone > 0 && `${number(gone)} that were deleted, or did not match any more, are left out.`,
  ]
    .filter((words) => words !== false)
    .join(" ");
}

function download(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
