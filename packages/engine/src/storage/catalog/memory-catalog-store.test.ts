import { catalogStoreSuite } from "./catalog-store.suite.ts";
import { MemoryCatalogStore } from "./memory-catalog-store.ts";

catalogStoreSuite({ name: "catalog in memory", open: () => new MemoryCatalogStore() });
