import { type ColumnDef, flexRender, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";
import { shortened } from "../parts/format.ts";
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
    <section className="card scroll" aria-label="Records" tabIndex={0}>
      <table>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th key={header.id} scope="col">
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id}>
                  <div className="cell">{flexRender(cell.column.columnDef.cell, cell.getContext())}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
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
      cell: ({ row: { original } }) => (
        <button type="button" className="link" onClick={() => onOpen(original)}>
          {shortened(original.id, CELL_CHARACTERS)}
        </button>
      ),
    },
    {
      id: "#document",
      header: "Document",
      cell: ({ row: { original } }) => shortened(original.document ?? "", CELL_CHARACTERS),
    },
    ...fields.slice(0, MOST_FIELDS).map((field, i) => ({
      id: `field ${i}`,
      header: () => field,
      cell: ({ row: { original } }: { row: { original: StoredRecord } }) => shown(original.metadata?.[field]),
    })),
  ];
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return shortened(typeof value === "string" ? value : JSON.stringify(value), CELL_CHARACTERS);
}
