import { type ColumnDef, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";
import { shortened } from "../parts/format.ts";
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
  return <ModelTable label="Records" table={table} />;
}

function columnsOf(
  records: readonly StoredRecord[],
  onOpen: (record: StoredRecord) => void,
): ColumnDef<StoredRecord>[] {
  const fields = [...new Set(records.flatMap(({ metadata }) => Object.keys(metadata ?? {})))];
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
    ...fields.slice(0, MOST_FIELDS).map((field, i) => ({
      id: `field ${i}`,
      header: () => field,
      cell: ({ row: { original } }: { row: { original: StoredRecord } }) =>
        cell(shown(original.metadata?.[field])),
    })),
  ];
}

function cell(content: ReactNode): ReactNode {
  return <div className="cell">{content}</div>;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return shortened(typeof value === "string" ? value : JSON.stringify(value), CELL_CHARACTERS);
}
