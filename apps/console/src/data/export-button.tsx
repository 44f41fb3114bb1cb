/** Writes the records that match to a file, page by page. */
import { type ReactNode, useState } from "react";
import { number } from "../parts/format.ts";
import type { JsonObject } from "../parts/json-text.ts";
import { type Asked, type StoredRecord, getRecords } from "../session/ask-collection.ts";
import { csvLine } from "./csv.ts";

const PAGE = 500;
/** All of it is in the memory of the tab; `sheaf export` writes collections of any size. */
const MOST_RECORDS = 100_000;

interface Props {
  readonly asked: Asked;
  readonly where: JsonObject | null;
}

type Format = "csv" | "jsonl";

export function ExportButton({ asked, where }: Props): ReactNode {
  const [state, setState] = useState("");
  const begin = async (format: Format): Promise<void> => {
    try {
      const records: StoredRecord[] = [];
      for (;;) {
        const page = await getRecords(asked, { where, limit: PAGE, offset: records.length });
        records.push(...page);
        setState(`${number(records.length)} records…`);
        if (page.length < PAGE || records.length >= MOST_RECORDS) break;
      }
      download(
        `${asked.collection.name}.${format}`,
        format === "csv" ? asCsv(records) : asJsonLines(records),
      );
      setState(records.length >= MOST_RECORDS ? `the first ${number(MOST_RECORDS)} records` : "");
    } catch (error) {
      setState(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <select
        aria-label="Export"
        value=""
        onChange={(event) => {
          if (event.target.value !== "") void begin(event.target.value as Format);
        }}
      >
        <option value="">Export…</option>
        <option value="csv">CSV</option>
        <option value="jsonl">JSON lines</option>
      </select>
      <span className="hint" role="status">
        {state}
      </span>
    </>
  );
}

function asCsv(records: readonly StoredRecord[]): readonly string[] {
  const fields = [...new Set(records.flatMap(({ metadata }) => Object.keys(metadata ?? {})))];
  const head = csvLine(["id", "document", ...fields]);
  const lines = records.map(({ id, document, metadata }) =>
    csvLine([id, document, ...fields.map((field) => metadata?.[field])]),
  );
  return [head, ...lines];
}

function asJsonLines(records: readonly StoredRecord[]): readonly string[] {
  return records.map((record) => `${JSON.stringify(record)}\n`);
}

function download(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
