/** One page of a list of the catalog, and where the server says that the next one begins. */
import type { Page } from "../pages.ts";
import type { Transport } from "../transport.ts";
import { type ListParams, pageQuery } from "./params.ts";

interface CatalogList<R, T> {
  readonly path: string;
  /** What the server says of an entry, as callers see it. */
  readonly read: (reply: R) => T;
}

export async function readPage<R, T>(
  transport: Transport,
  { path, read }: CatalogList<R, T>,
  page: ListParams,
): Promise<Page<T>> {
  const request = { method: "GET", path: `${path}${pageQuery(page)}` } as const;
  const { value, headers } = await transport.sendForAnswer<readonly R[]>(request, page);
  return { items: value.map(read), next: headers.get("x-sheaf-next") };
}
