/** Collections: GET and DELETE address one by name, everything else by id. */
import type { ListBatch, ListPage } from "@sheaf/engine";
import {
  type Collection,
  type CollectionRef,
  parseUpdateCollection,
  throwIfAborted,
  writeCollection,
  writeFloat64,
} from "@sheaf/protocol";
import { listPage } from "../http/list-page.ts";
import { collectionNameParams, collectionParams, databaseParams } from "../http/path-params.ts";
import { DONE, type Reply, type Route, ok } from "../http/route.ts";
import { explainMissingName } from "./explain-missing-name.ts";
import type { EngineSource } from "../request/engine-source.ts";
import type { Services } from "../services/services.ts";
import { COLLECTIONS as described } from "./collection-descriptions.ts";

const DATABASE = "/api/v2/tenants/:tenant/databases/:database";
const COLLECTIONS = `${DATABASE}/collections`;
const COLLECTION = `${COLLECTIONS}/:collection`;
const READ = { scope: "read", tenant: "path" } as const;
const WRITE = { scope: "write", tenant: "path" } as const;

export function collectionRoutes(services: Services): readonly Route[] {
  return [...routesOfDatabase(services), ...routesOfCollection(services)];
}

function routesOfDatabase({ engine, lists }: Services): readonly Route[] {
  return [
    {
      ...WRITE,
      method: "POST",
      path: COLLECTIONS,
      description: described.create,
      async handle(call) {
        const request = await call.parse("createCollection", databaseParams(call.params));
        const made = await engine().createCollection(request, call.budget);
        const whose = { tenant: request.tenant, budget: call.budget };
        return ok(await lists.collection(whose, () => Promise.resolve(made)));
      },
    },
    {
      ...READ,
      method: "GET",
      path: COLLECTIONS,
      description: described.list,
      async handle(call) {
        const ref = databaseParams(call.params);
        const fetch = (page: ListPage): Promise<ListBatch<Collection>> => engine().listCollections(ref, page);
        return listPage(lists, call, { tenant: ref.tenant, fetch, write: writeCollection });
      },
    },
    {
      ...READ,
      method: "GET",
      path: `${DATABASE}/collections_count`,
      description: described.count,
      async handle({ params }) {
        return ok(String(await engine().countCollections(databaseParams(params))));
      },
    },
  ];
}

function routesOfCollection({ engine, lists }: Services): readonly Route[] {
  return [
    {
      ...READ,
      method: "GET",
      path: COLLECTION,
      description: described.getByName,
      async handle({ params, budget }) {
        const ref = collectionNameParams(params);
        const { tenant } = ref;
        const found = (): Promise<Collection> =>
          explainMissingName(engine, ref, engine().getCollectionByName(ref), getById);
        return ok(await lists.collection({ tenant, budget }, found));
      },
    },
    {
      ...READ,
      method: "GET",
      path: `${COLLECTIONS}/by-id/:collection`,
      description: described.getById,
      async handle({ params, budget }) {
        const ref = collectionParams(params);
        const { tenant } = ref;
        return ok(await lists.collection({ tenant, budget }, () => engine().getCollection(ref)));
      },
    },
    {
      ...WRITE,
      method: "PUT",
      path: COLLECTION,
      description: described.update,
      async handle(call) {
        const ref = collectionParams(call.params);
        const body = await call.parse("updateCollection");
        const change = parseUpdateCollection(body, await engine().getCollection(ref));
        throwIfAborted(call.budget.signal);
        await engine().updateCollection(ref, change);
        return DONE;
      },
    },
    {
      ...WRITE,
      method: "DELETE",
      path: COLLECTION,
      description: described.delete,
      async handle({ params }) {
        const ref = collectionNameParams(params);
        await explainMissingName(engine, ref, engine().deleteCollection(ref), deleteByName);
        return DONE;
      },
    },
    {
      ...READ,
      method: "GET",
      path: `${COLLECTION}/indexing_status`,
      description: described.indexingStatus,
      handle: ({ params }) => indexingStatus(engine, collectionParams(params)),
    },
  ];
}

async function indexingStatus(engine: EngineSource, ref: CollectionRef): Promise<Reply> {
  const { totalOperations, indexedOperations } = await engine().indexingStatus(ref);
  const progress = totalOperations === 0 ? 1 : indexedOperations / totalOperations;
  const counts = JSON.stringify({
    num_unindexed_ops: totalOperations - indexedOperations,
    num_indexed_ops: indexedOperations,
    total_ops: totalOperations,
  });
  return ok(`{"op_indexing_progress":${writeFloat64(progress)},${counts.slice(1)}`);
}

function getById(_name: string, id: string): string {
  return `GET .../collections/by-id/${id} takes an id`;
}

function deleteByName(name: string): string {
  return `send DELETE .../collections/${encodeURIComponent(name)}`;
}
