import { type ColumnDef, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";
import { shortened } from "../parts/format.ts";
import { fieldOf } from "../parts/json-text.ts";
import { ModelTable } from "../parts/tables.tsx";
import type { StoredRecord } from "../session/ask-collection.ts";

interface Props {
  readonly records: readonly StoredRecord[];
  readonly onOpen: (record: StoredRecord) => void;
}

const MOST_FIELDS = 8;
const CELL_CHARACTERS = 160;

export function RecordsTable({ records, onOpen }: Props): ReactNode {
  const columns = useMemo(() => columnsOf(records, onOpen), [records, onOpen]);
  const table = useReactTable({
    data: records as StoredRecord[],
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: ({ id }) => id,
  });
  if (records.length === 0) return null;
  return (
    <ModelTable label="Records" table={table}>
      {fieldsOf(records).length > MOST_FIELDS && (
        <p className="hint">The first {MOST_FIELDS} keys are shown; a record has all of its own.</p>
      )}
    </ModelTable>
  );
}

function columnsOf(
  records: readonly StoredRecord[],
  onOpen: (record: StoredRecord) => void,
): ColumnDef<StoredRecord>[] {
  return [
    {
      id: "#id",
      header: "Id",
      cell: ({ row: { original } }) =>
        cell(
          <button type="button" className="link" onClick={() => onOpen(original)}>
            {shortened(original.id, CELL_CHARACTERS)}
          </button>,
        ),
    },
    {
      id: "#document",
      header: "Document",
      cell: ({ row: { original } }) => cell(shortened(original.document ?? "", CELL_CHARACTERS)),
    },
    ...fieldsOf(records)
      .slice(0, MOST_FIELDS)
      .map((field, i) => ({
        id: `field ${i}`,
        header: () => field,
        cell: ({ row: { original } }: { row: { original: StoredRecord } }) =>
          cell(shown(fieldOf(original.metadata, field))),
      })),
  ];
}

function fieldsOf(records: readonly StoredRecord[]): readonly string[] {
  return [...new Set(records.flatMap(({ metadata }) => Object.keys(metadata ?? {})))];
}

function cell(content: ReactNode): ReactNode {
  return <div className="cell">{content}</div>;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return shortened(typeof value === "string" ? value : JSON.stringify(value), CELL_CHARACTERS);
}
