/** The collections of a tenant, to sort and to open. */
import type { CollectionUsage, TenantUsage } from "@sheaf/client";
import {
  type SortingState,
  createColumnHelper,
  getCoreRowModel,
  getSortedRowModel,
  useReactTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo, useState } from "react";
import { ago, bytes, number } from "../parts/format.ts";
import { Empty } from "../parts/states.tsx";
import { ModelTable } from "../parts/tables.tsx";
import { go, placeLink, usePlace } from "../route/place.ts";
import type { Scope } from "../session/use-scope.ts";
import { ModelName } from "./model-name.tsx";

interface Props {
  readonly usage: TenantUsage;
  readonly scope: Scope;
}

const column = createColumnHelper<CollectionUsage>();

export function CollectionsTable({ usage, scope }: Props): ReactNode {
  const [sorting, setSorting] = useState<SortingState>([]);
  const columns = useMemo(() => columnsOf(scope), [scope.tenant]);
  const table = useReactTable({
    data: usage.described as CollectionUsage[],
    columns,
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    getRowId: ({ id }) => id,
  });
  if (usage.described.length === 0) {
    return (
      <Empty>
        <p>There are no collections yet.</p>
        <p>
          "Make a collection" above or <code>createCollection</code> of a client makes one;{" "}
          <code>npm run quickstart</code> makes one with records.
        </p>
      </Empty>
    );
  }
  return (
    <ModelTable label="Collections" table={table} sortable>
      {usage.described.length < (usage.collections.used ?? 0) && (
        <p className="hint">The first {number(usage.described.length)} are shown.</p>
      )}
    </ModelTable>
  );
}

function columnsOf({ tenant }: Scope) {
  return [
    column.accessor("name", {
      header: "Collection",
      cell: ({ row: { original } }) => (
        <button
          type="button"
          className="link"
          onClick={() => go({ view: "data", tenant, database: original.database, collection: original.name })}
        >
          {original.name}
        </button>
      ),
    }),
    column.accessor("database", { header: "Database" }),
    column.accessor("records", { header: "Records", cell: (cell) => number(cell.getValue()) }),
    column.accessor("bytes", { header: "On the disk", cell: (cell) => bytes(cell.getValue()) }),
    column.accessor("dimension", { header: "Dimension", cell: (cell) => number(cell.getValue()) }),
    column.display({
      id: "model",
      header: "Model",
      cell: ({ row: { original } }) => <ModelName tenant={tenant} usage={original} />,
    }),
    column.accessor(indexed, {
      id: "indexed",
      header: "Indexed",
      cell: (cell) => `${Math.floor(100 * cell.getValue())} %`,
    }),
    column.accessor(({ lastWriteAt }) => lastWriteAt?.getTime() ?? 0, {
      id: "written",
      header: "Last write",
      cell: ({ row: { original } }) => ago(original.lastWriteAt),
    }),
    column.display({
      id: "settings",
      header: "Settings",
      cell: ({ row: { original } }) => <SettingsLink tenant={tenant} usage={original} />,
    }),
  ];
}

function SettingsLink({
  tenant,
  usage: { database, name },
}: {
  readonly tenant: string;
  readonly usage: CollectionUsage;
}): ReactNode {
  const params = { manage: "collection" };
  const link = placeLink(usePlace(), { tenant, database, collection: name, params });
  return (
    <a href={link} aria-label={`Settings of ${name}`}>
      Settings
    </a>
  );
}

function indexed({ totalOps, numIndexedOps }: CollectionUsage): number {
  return totalOps === 0 ? 1 : numIndexedOps / totalOps;
}
