/** Records of a collection: filtered, shown, changed, brought in and taken out. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { counted, number } from "../parts/format.ts";
import { type JsonObject, parseExactly } from "../parts/json-text.ts";
import { Empty, Failure } from "../parts/states.tsx";
import { setParams, usePlace } from "../route/place.ts";
import { type Asked, ask, getRecords } from "../session/ask-collection.ts";
import { may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { OfCollection } from "../shell/of-collection.tsx";
import { ExportButton } from "./export-button.tsx";
import { Facets } from "./facets.tsx";
import { FilterEditor } from "./filter-editor.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { OpenRecord } from "./open-record.tsx";
import { RecordDialog } from "./record-dialog.tsx";
import { type Order, RecordsTable } from "./records-table.tsx";

const PAGE_RECORDS = 50;

export function DataView(): ReactNode {
  return <OfCollection show={(asked) => <Records key={asked.collection.id} asked={asked} />} />;
}

function Records({ asked }: { readonly asked: Asked }): ReactNode {
  const { params } = usePlace();
  const session = useSession();
  const queries = useQueryClient();
  const [open, setOpen] = useState<"new" | null>(null);
  const [importing, setImporting] = useState(false);
  const filterText = params["where"] ?? "";
  const filter = parseExactly(filterText);
  const where = "value" in filter ? filter.value : null;
  const offset = Math.max(0, Math.floor(Number(params["offset"] ?? 0)) || 0);
  const isReadable = "value" in filter;
  const order = orderOf(params["sort"] ?? "");
  const { count, page } = useRecords(asked, { where, offset, order }, isReadable);
  const changed = (): void => {
    setOpen(null);
    void queries.invalidateQueries();
  };
  return (
    <>
      <div className="row">
        <h1>{asked.collection.name}</h1>
        <span className="hint">
          {count.isSuccess
            ? `${counted(count.data, "record")} ${count.data === 1 ? "matches" : "match"}`
            : ""}
        </span>
        {may(session, "write") && (
          <>
            <button type="button" onClick={() => setOpen("new")}>
              Add a record
            </button>
            <button type="button" onClick={() => setImporting(true)}>
              Import files
            </button>
          </>
        )}
        {isReadable && <ExportButton asked={asked} where={where} />}
      </div>
      <div className="sided">
        <FilterEditor asked={asked} text={filterText} />
        <div>
          {page.isError && <Failure error={page.error} retry={() => void page.refetch()} />}
          {page.isSuccess && (
            <RecordsTable
              records={page.data}
              onOpen={({ id }) => setParams({ record: id }, "new")}
              order={order}
              onOrder={(next) => setParams({ sort: orderText(next), offset: "" }, "new")}
            />
          )}
          {page.isSuccess && page.data.length === 0 && <Empty>{emptyBecause(where, offset)}</Empty>}
          <Pages offset={offset} total={count.data ?? 0} />
        </div>
        {isReadable && <Facets asked={asked} where={where} />}
      </div>
      {open !== null && (
        <RecordDialog asked={asked} record={null} onClose={() => setOpen(null)} onChanged={changed} />
      )}
      {params["record"] !== undefined && (
        <OpenRecord key={params["record"]} asked={asked} id={params["record"]} onChanged={changed} />
      )}
      <ImportDialog asked={asked} open={importing} onClose={() => setImporting(false)} onImported={changed} />
    </>
  );
}

interface Shown {
  readonly where: JsonObject | null;
  readonly offset: number;
  readonly order: Order | null;
}

function useRecords(asked: Asked, { where, offset, order }: Shown, isReadable: boolean) {
  const { id } = asked.collection;
  const count = useQuery({
    queryKey: ["count", id, where],
    enabled: isReadable,
    queryFn: ({ signal }) => ask<number>(asked, "/count", { where: where ?? undefined }, signal),
  });
  const page = useQuery({
    queryKey: ["records", id, where, offset, order],
    enabled: isReadable,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const orderBy = order === null ? [] : [{ [order.key]: order.descending ? "desc" : "asc" }];
      return getRecords(asked, { where, limit: PAGE_RECORDS, offset, orderBy }, signal);
    },
  });
  return { count, page };
}

/** `{"year": "desc"}`, as the address has it. */
function orderOf(text: string): Order | null {
  const parsed = parseExactly(text);
  const [said] = Object.entries(("value" in parsed ? parsed.value : null) ?? {});
  return said === undefined ? null : { key: said[0], descending: said[1] === "desc" };
}

function orderText(order: Order | null): string {
  return order === null ? "" : JSON.stringify({ [order.key]: order.descending ? "desc" : "asc" });
}

function emptyBecause(where: JsonObject | null, offset: number): string {
  if (offset > 0) return "There are no records so far behind. Clear the filter to see the first ones.";
  return where === null ? "The collection has no records." : "No record matches the filter.";
}

function Pages({ offset, total }: { readonly offset: number; readonly total: number }): ReactNode {
  if (offset >= total || (total <= PAGE_RECORDS && offset === 0)) return null;
  const to = (next: number) => () => {
    setParams({ offset: next <= 0 ? "" : String(next) }, "new");
    scrollTo(0, 0);
  };
  return (
    <div className="row end">
      <span className="hint">
        {number(offset + 1)} to {number(Math.min(total, offset + PAGE_RECORDS))} of {number(total)}
      </span>
      <button type="button" disabled={offset === 0} onClick={to(offset - PAGE_RECORDS)}>
        Before
      </button>
      <button type="button" disabled={offset + PAGE_RECORDS >= total} onClick={to(offset + PAGE_RECORDS)}>
        Next
      </button>
    </div>
  );
}
