import {
  type ColumnDef,
  type SortingState,
  functionalUpdate,
  getCoreRowModel,
  useReactTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";
import { shortened } from "../parts/format.ts";
import { fieldOf } from "../parts/json-text.ts";
import { ModelTable } from "../parts/tables.tsx";
import type { StoredRecord } from "../session/ask-collection.ts";

interface Props {
  readonly records: readonly StoredRecord[];
  readonly onOpen: (record: StoredRecord) => void;
  /** By a metadata key, for the server to do. */
  readonly order: Order | null;
  readonly onOrder: (order: Order | null) => void;
}

export interface Order {
  readonly key: string;
  readonly descending: boolean;
}

const MOST_FIELDS = 8;
const CELL_CHARACTERS = 160;

export function RecordsTable({ records, onOpen, order, onOrder }: Props): ReactNode {
  const fields = useMemo(() => fieldsOf(records).slice(0, MOST_FIELDS), [records]);
  const columns = useMemo(() => columnsOf(fields, onOpen), [fields, onOpen]);
  const place = fields.findIndex((field) => field === order?.key);
  const sorting: SortingState =
    order === null || place === -1 ? [] : [{ id: `field ${place}`, desc: order.descending }];
  const table = useReactTable({
    data: records as StoredRecord[],
    columns,
    getCoreRowModel: getCoreRowModel(),
    manualSorting: true,
    sortDescFirst: false,
    state: { sorting },
    onSortingChange: (change) => {
      const [next] = functionalUpdate(change, sorting);
      const key = fields[Number(next?.id.replace("field ", ""))];
      onOrder(next === undefined || key === undefined ? null : { key, descending: next.desc });
    },
    getRowId: ({ id }) => id,
  });
  if (records.length === 0) return null;
  return (
    <ModelTable label="Records" table={table} sortable>
      {fieldsOf(records).length > MOST_FIELDS && (
        <p className="hint">The first {MOST_FIELDS} keys are shown; a record has all of its own.</p>
      )}
    </ModelTable>
  );
}

function columnsOf(
  fields: readonly string[],
  onOpen: (record: StoredRecord) => void,
): ColumnDef<StoredRecord>[] {
  return [
    {
      id: "#id",
      header: "Id",
      enableSorting: false,
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
      enableSorting: false,
      cell: ({ row: { original } }) => cell(shortened(original.document ?? "", CELL_CHARACTERS)),
    },
    ...fields.map((field, i) => ({
      id: `field ${i}`,
      header: () => field,
      accessorFn: (record: StoredRecord) => fieldOf(record.metadata, field),
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
