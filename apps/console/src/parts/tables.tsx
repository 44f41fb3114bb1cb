/** Tables: of rows that a view writes itself, and of a model of TanStack Table. */
import { type Header, type Table, flexRender } from "@tanstack/react-table";
import type { ReactNode } from "react";

interface ListProps {
  readonly label: string;
  /** Shown above it. */
  readonly title?: string;
  readonly heads: readonly string[];
  /** Its rows. */
  readonly children: ReactNode;
}

export function ListTable({ label, title, heads, children }: ListProps): ReactNode {
  return (
    <section className="card scroll" aria-label={label} tabIndex={0}>
      {title !== undefined && <h2>{title}</h2>}
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface ModelProps<T> {
  readonly label: string;
  readonly table: Table<T>;
  /** Each head as a button that sorts. */
  readonly sortable?: boolean;
  /** Shown below it. */
  readonly children?: ReactNode;
}

export function ModelTable<T>({ label, table, sortable = false, children }: ModelProps<T>): ReactNode {
  return (
    <section className="card scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) =>
                sortable && header.column.getCanSort() ? sortingHead(header) : plainHead(header),
              )}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </section>
  );
}

function plainHead<T>({ id, column, getContext }: Header<T, unknown>): ReactNode {
  return (
    <th key={id} scope="col">
      {flexRender(column.columnDef.header, getContext())}
    </th>
  );
}

function sortingHead<T>({ id, column, getContext }: Header<T, unknown>): ReactNode {
  return (
    <th key={id} scope="col" aria-sort={ariaSort(column.getIsSorted())}>
      <button type="button" onClick={column.getToggleSortingHandler()}>
        {flexRender(column.columnDef.header, getContext())}
      </button>
    </th>
  );
}

function ariaSort(sorted: false | "asc" | "desc"): "none" | "ascending" | "descending" {
  if (sorted === false) return "none";
  return sorted === "asc" ? "ascending" : "descending";
}
