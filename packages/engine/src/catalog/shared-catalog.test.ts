import { MemoryCatalogStore } from "../storage/catalog/memory-catalog-store.ts";
import { sharedCatalogSuite } from "./shared-catalog.suite.ts";

sharedCatalogSuite({
  name: "store in memory",
  open: () => {
    const store = new MemoryCatalogStore();
    return [store, store];
  },
});
