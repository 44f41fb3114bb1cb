import { MemoryRecordStore } from "./memory-record-store.ts";
import { recordStoreSuite } from "./record-store.suite.ts";

recordStoreSuite({ name: "memory record store", open: () => new MemoryRecordStore() });
