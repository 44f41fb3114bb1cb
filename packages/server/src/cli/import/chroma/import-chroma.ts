/** Goes through the tenants, databases and collections of a Chroma server, and makes each of them at Sheaf. */
import { rmSync } from "node:fs";
import type { SheafClient } from "@sheaf/client";
import { DEFAULT_DATABASE, SheafError } from "@sheaf/protocol";
import { SettingError } from "../../../settings/setting-error.ts";
import { copyWithState } from "../copy/copy-with-state.ts";
import type { ImportState } from "../copy/import-state.ts";
import { unlessThere } from "../tenant/import-tenant.ts";
import { type ChromaSource, type SourceCollection, databasePath } from "./chroma-source.ts";

export interface ChromaImport {
  readonly source: ChromaSource;
  readonly client: SheafClient;
  readonly state: ImportState;
  /** Tenants of the source, if it does not list them. */
  readonly tenants: readonly string[];
  /** Only this database, only this collection. */
  readonly database: string | undefined;
  readonly collection: string | undefined;
  /** Other names at Sheaf. */
  readonly toTenant: string | undefined;
  readonly toDatabase: string | undefined;
  readonly tell: (line: () => string) => void;
}

/** The state says how it went. Throws where going on makes no sense; a later run then continues. */
export async function importChroma(run: ChromaImport): Promise<void> {
  if (run.state.isNew) rmSync(run.state.refusals, { force: true });
  let [databases, found] = [0, 0];
  for (const tenant of run.tenants) {
    const target = run.toTenant ?? tenant;
    await unlessThere(run.client.createTenant({ name: target }));
    for (const database of await databasesOf(run, tenant)) {
      databases += 1;
      const to = run.toDatabase ?? database;
      await unlessThere(run.client.scoped({ tenant: target }).createDatabase({ name: to }));
      for (const collection of await run.source.collections(tenant, database)) {
        if (run.collection !== undefined && collection.name !== run.collection) continue;
        found += 1;
        await copyOne(run, collection, { tenant: target, database: to });
      }
    }
  }
  if (databases === 0 && run.database !== undefined)
    throw new SettingError(`${run.tenants.join(", ")}: no database ${run.database}`);
  if (found === 0 && run.collection !== undefined)
    throw new SheafError("not_found", `no collection ${run.collection} in what is to be imported`);
  run.state.finish();
}

/** Of a tenant, those that are to be copied. */
async function databasesOf({ source, database }: ChromaImport, tenant: string): Promise<readonly string[]> {
  const all = await source.databases(tenant);
  if (all === null && database === undefined)
    console.error(
      `The source does not list the databases of ${tenant}: ${DEFAULT_DATABASE} is copied; name another with --database.`,
    );
  if (all === null) return [database ?? DEFAULT_DATABASE];
  return database === undefined ? all : all.filter((name) => name === database);
}

async function copyOne(
  run: ChromaImport,
  collection: SourceCollection,
  to: { readonly tenant: string; readonly database: string },
): Promise<void> {
  const { source, client, state, tell } = run;
  await copyWithState({
    ...{ client, state, tell, id: collection.id },
    from: [collection.tenant, collection.database, collection.name].join("/"),
    to: [to.tenant, to.database, collection.name].join("/"),
    makeTarget: () => makeCollection(run, collection, to),
    source: {
      async page({ done }) {
        const page = await source.records(collection, done);
        return page.ids.length === 0 ? null : page;
      },
      count: () => source.count(collection),
    },
  });
}

/** The path of the collection at Sheaf, which has the schema or configuration and the metadata of the source. */
async function makeCollection(
  { source, client }: ChromaImport,
  collection: SourceCollection,
  to: { readonly tenant: string; readonly database: string },
): Promise<string> {
  const path = `${databasePath(to.tenant, to.database)}/collections`;
  const described = await source.describe(collection);
  const made = await client.request<{ readonly id: string }>({
    method: "POST",
    path,
    body: creationOf(described),
  });
  return `${path}/${made.id}`;
}

/**
 * The description of a collection as a request for one. The text keeps the kinds of numbers. Older servers have no schema, and
 * collections of older versions have their configuration in the metadata, beside which no schema can stand.
 */
function creationOf(described: string): string {
  const { schema, metadata } = JSON.parse(described) as {
    readonly schema?: unknown;
    readonly metadata?: Readonly<Record<string, unknown>> | null;
  };
  const isOld = Object.keys(metadata ?? {}).some((key) => key.startsWith("hnsw:"));
  const named =
    isOld || schema === undefined || schema === null
      ? described
          .replace('"configuration_json":', '"configuration":')
          .replace(/"schema":(?=\s*\{)/u, '"schema_of_source":')
      : described;
  return named.replace(/\}\s*$/u, ',"get_or_create":true}');
}
